"""What is said when this machine runs out of something."""

import errno
import pickle

import pytest

from usp.exceptions import LocalShortageError


@pytest.mark.parametrize("code", LocalShortageError.ADVICE)
def test_the_message_says_what_to_do_and_no_number(code):
    error = LocalShortageError(code)
    assert str(error) == error.strerror == LocalShortageError.ADVICE[code]
    assert error.errno == code
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.errno) == (str(error), code)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_not_said_to_be_that_of_temporary_files(code):
    said = LocalShortageError.ADVICE[code]
    assert said.index("disk") < said.index("temporary")
