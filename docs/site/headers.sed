# SPDX-License-Identifier: Apache-2.0
# What Doxygen reads of a public header. It begins with its contract, whose last line is for those who change it.
2s|^/// |/// \\file\n/// |
/^\/\/\/ Tests: /d
# nccl.h has plain comments of C: those before a declaration and behind one are its documentation, headings are not.
/^ *\/\* ----.*---- \*\/$/d
s|^( *)/\* |\1/** |
s|([;,0-9A-Za-z_)]) +/\* |\1 /**< |
