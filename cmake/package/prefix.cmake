# SPDX-License-Identifier: Apache-2.0
# Read by cpack for each generator: Debian's files go to /usr, those of the tarball to the folder in which it is unpacked.
if(CPACK_GENERATOR STREQUAL DEB)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
else()
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
endif()
