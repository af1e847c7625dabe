/**
 * Frees the memory of buffers whose content is used no more. Otherwise V8 marks the whole heap after each 64 MB of such
 * memory, which takes more time than the work on a photo. The caller must be the only user of the memory.
 */
export function freeMemory (buffers: readonly ArrayBufferLike[]): void {
  for (const buffer of buffers) if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
