"""The site: the pages of docs/, built by Zensical into build/site without a warning: `python -m docs.site`."""
