"""What crfkit does, on data that it makes itself: ``make demo``, ``crfkit demo``.

`crfkit.demo.addresses` writes postal addresses, `crfkit.demo.tour` learns to read them, and
`crfkit.demo.label_bias` is the rib/rob network of the paper that CRFs come from.
"""
