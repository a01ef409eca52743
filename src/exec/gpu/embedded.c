// SPDX-License-Identifier: Apache-2.0

/* Embeds a file of GPU code in a library. Two symbols: where it begins (aligned to 4096 bytes) and how
   many bytes it has. It is what cuModuleLoadData and hipModuleLoadData take. */
__asm__(
    ".pushsection .rodata\n"
    ".balign 4096\n"
    ".globl weir_gpu_image\n"
    ".type weir_gpu_image, @object\n"
    "weir_gpu_image:\n"
    ".incbin \"" WEIR_IMAGE
    "\"\n"
    ".Lweir_gpu_image_end:\n"
    ".size weir_gpu_image, .Lweir_gpu_image_end - weir_gpu_image\n"
    ".balign 8\n"
    ".globl weir_gpu_image_bytes\n"
    ".type weir_gpu_image_bytes, @object\n"
    "weir_gpu_image_bytes:\n"
    ".quad .Lweir_gpu_image_end - weir_gpu_image\n"
    ".size weir_gpu_image_bytes, 8\n"
    ".popsection\n");

extern const unsigned long weir_gpu_image_bytes;
