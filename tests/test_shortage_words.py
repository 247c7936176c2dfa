"""What is said when this machine runs out of something."""

import errno
import pickle

from together import together
from usp.exceptions import LocalShortageError


@together("code, said", LocalShortageError.ADVICE.items())
def test_the_message_says_what_to_do_and_no_number(code, said):
    error = LocalShortageError(code)
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert (str(one), one.strerror, one.errno) == (said, said, code)


def test_a_full_disk_is_not_said_to_be_that_of_temporary_files():
    for code in (errno.ENOSPC, errno.EDQUOT):
        said = LocalShortageError.ADVICE[code]
        assert said.index("disk") < said.index("temporary")
