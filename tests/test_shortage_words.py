"""What is said when this machine runs out of something."""

import errno
import pickle

from usp.exceptions import LocalShortageError


def test_the_message_says_what_to_do_and_no_number(subtests):
    for code in LocalShortageError.ADVICE:
        with subtests.test(code=code):
            error = LocalShortageError(code)
            assert str(error) == error.strerror == LocalShortageError.ADVICE[code]
            assert error.errno == code
            copy = pickle.loads(pickle.dumps(error))
            assert (str(copy), copy.errno) == (str(error), code)


def test_a_full_disk_is_not_said_to_be_that_of_temporary_files(subtests):
    for code in [errno.ENOSPC, errno.EDQUOT]:
        with subtests.test(code=code):
            said = LocalShortageError.ADVICE[code]
            assert said.index("disk") < said.index("temporary")
