/** Decoded pixels in rows. `turn` is the clockwise rotation in degrees that makes them upright. */
export interface RawImage { data: Uint8Array, width: number, height: number, channels: 1 | 3 | 4, turn?: number }
