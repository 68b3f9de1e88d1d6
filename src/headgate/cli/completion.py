"""`headgate completion`: how does a shell learn to complete the commands?"""

from __future__ import annotations

import click

VARIABLE = "_HEADGATE_COMPLETE"
"""With this in the environment the program answers a shell instead of a person."""


@click.command(
    name="completion",
    epilog="""Examples:

\b
    source <(headgate completion bash)
    headgate completion zsh > ~/.zfunc/_headgate
    headgate completion fish > ~/.config/fish/completions/headgate.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script with which a SHELL completes commands, options and files."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    command = click.get_current_context().find_root().command
    script = kind(command, {}, "headgate", VARIABLE)
    # Not `source()`, which for bash starts one to see how old it is.
    click.echo(script.source_template % script.source_vars())
