/**
 * Frees the memory of buffers that are no longer used. Otherwise V8 marks the whole heap after each 64 MB of such
 * memory, which takes more time than the work on a photo. No other view of the memory may be in use.
 */
export function freeMemory (buffers: readonly ArrayBufferLike[]): void {
  for (const buffer of buffers) if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
