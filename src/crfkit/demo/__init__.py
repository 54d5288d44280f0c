"""What crfkit does, on data that it makes itself: ``make demo``, ``crfkit demo``.

`crfkit.demo.tour` learns to read the addresses of `crfkit.datasets.make_addresses`, and
`crfkit.demo.label_bias` is the rib/rob network of the paper that CRFs come from.
"""
