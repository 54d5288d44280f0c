"""The inspector: pages that show what a model does with text, where it errs, and what to label next.

`create_inspector` makes the ASGI app, ``crfkit inspect`` runs it. A page is a file here, a function from the
state in its address to what its template shows; pictures are those of `crfkit.view`, numbers those of the
model. Needs the extra: ``pip install 'crfkit[inspect]'``.

==============  =================================================================================
`sentence`      a text, its lattice, why each token has its label, the k best labelings
`errors`        scores, what was taken for what, doubtful gold labels, calibration
`compare`       two models on the same data
`queue`         unlabeled sentences, the most uncertain first, labeled by keyboard
`model`         labels, weights, transitions, training, also as it runs
==============  =================================================================================
"""
