"""Upload of presets to the Hugging Face hub."""

import os
from pathlib import Path

from kerastrans.forecasting import presets
from kerastrans.forecasting.inference.preset_files import CARD, CONTENT, README
from kerastrans.forecasting.presets.sources import hub_name
from kerastrans.utils.files import first_line
from kerastrans.utils.types import PathLike
from kerastrans.utils.validation import import_extra


def upload_preset(
    uri: str, folder: PathLike, *, private: bool = False, new_version: bool = False
) -> str:
    """Publish the folder of a preset on the Hugging Face hub.

    `from_preset(uri)` can then load it. The upload requires `pip install ".[hub]"`, and a
    login (`hf auth login`) or a token in the environment variable `HF_TOKEN`.

    Args:
        uri: str, "hf://user/name".
        folder: Path of a folder that `Forecaster.save_to_preset` wrote. Its files are checked
            first. Its README.md can be edited; additional files are not uploaded.
        private: bool, whether a new repository is visible only to you.
        new_version: bool, whether to add a version to an existing name. Earlier versions keep their
            revisions.

    Returns:
        The commit, a str: `from_preset(uri, revision=commit)` loads exactly these files.

    Raises:
        FileExistsError: If the name exists and `new_version` is False; nothing is changed.
        ImportError: If `huggingface_hub` is not installed.
        RuntimeError: If the hub refuses the upload, or cannot be reached.
        ValueError: If `uri` is not a name on the hub, the folder is not a preset whose files match
            its card, or its licence is unreadable or forbids commercial use.
    """
    name, folder = hub_name(uri), Path(folder)
    presets.check(folder)
    from kerastrans.models.pretrained.licences import read_licence

    read_licence(folder, name)
    hub = import_extra("huggingface_hub", f"to upload {name}", "hub")
    api = hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    operations = [
        hub.CommitOperationAdd(file, folder / file)
        for file in (README, CARD, *CONTENT)
        if (folder / file).is_file()
    ]
    try:
        exists = api.repo_exists(name)
        if not exists:
            api.create_repo(name, private=private)
        elif not new_version:
            raise FileExistsError(
                f"{uri} exists on the hub: pass a new name, or new_version=True to add a version."
            )
        commit = api.create_commit(name, operations, commit_message=f"{folder.name}, by kerastrans")
    except FileExistsError:
        raise
    except Exception as error:  # errors of the network, the hub and its tokens have no common base
        raise RuntimeError(f"{folder} was not uploaded to {uri}: {first_line(error)}.") from error
    return commit.oid
