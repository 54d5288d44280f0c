"""Parts of other tools that run on models of crfkit; each needs its tool.

`crfkit.integrations.mlflow`: folders that MLflow loads and serves, written without it.
`crfkit.integrations.spacy`: ``nlp.add_pipe("crfkit", config={"model": "names.crf"})``.
"""
