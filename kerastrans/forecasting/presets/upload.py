"""A preset is published on the Hugging Face hub."""

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

    `from_preset(uri)` reads it from there. You must be logged in, `hf auth login`, or have a token
    in `HF_TOKEN`; `pip install "kerastrans[hub]"`.

    Args:
        uri: str, "hf://user/name".
        folder: Folder that `Forecaster.save_to_preset` wrote. Its files are checked before, its
            README.md may have been edited; other files in it are not uploaded.
        private: bool, whether only you see it; of a name that is new.
        new_version: bool, whether the name may exist. Former versions stay under their revisions.

    Returns:
        str, the commit: `from_preset(uri, revision=commit)` reads these very files.

    Raises:
        FileExistsError: The name exists, and `new_version` is False; nothing is changed.
        ImportError: No `huggingface_hub`.
        RuntimeError: The hub refuses, or there is no network.
        ValueError: Not a name on the hub; a folder that is no preset, or whose files are not those
            of its card; a licence with which `from_preset` would refuse it.
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
                f"{uri} exists on the hub: give a new name, or new_version=True to add a version."
            )
        done = api.create_commit(name, operations, commit_message=f"{folder.name}, by kerastrans")
    except FileExistsError:
        raise
    except Exception as error:  # of the network, the hub and its tokens: they have no base
        raise RuntimeError(f"{folder} is not uploaded to {uri}: {first_line(error)}.") from error
    return done.oid
