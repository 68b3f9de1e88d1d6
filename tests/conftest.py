"""Under which settings does hypothesis search for counterexamples?"""

from hypothesis import settings

from tests.proofs import profile

settings.register_profile("test", deadline=None, derandomize=False, print_blob=True)
settings.register_profile("soak", settings.get_profile("test"), max_examples=20_000)
settings.load_profile(profile())
