"""Is the table of requests one that can be served?"""

import re

from headgate.http.routes import ROUTES, Needs


def test_each_route_has_a_name_and_a_place_of_its_own() -> None:
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


def test_the_parts_of_a_path_are_its_parameters() -> None:
    for route in ROUTES:
        parts = set(re.findall(r"\{(\w+)\}", route.path))
        assert {one.name for one in route.parameters if one.where == "path"} == parts, route.name


def test_only_who_administers_changes_the_policy() -> None:
    changing = [route for route in ROUTES if route.room == "policy" and route.method != "GET"]
    assert {route.name: route.needs for route in changing} == {
        "apply_file": Needs.ADMINISTRATOR,
        "apply_batch": Needs.ADMINISTRATOR,
        "explain": Needs.AUDITOR,  # it only asks, with a body
    }


def test_nothing_but_health_and_a_log_in_is_for_strangers() -> None:
    open_ = {route.name for route in ROUTES if route.needs is Needs.NOTHING}
    assert open_ == {"is_live", "is_ready", "metrics", "openapi", "log_in"}
