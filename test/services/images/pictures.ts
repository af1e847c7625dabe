import sharp, { type Sharp } from 'sharp'

/* Images that the tests make themselves. */

/** A picture whose left half is red and whose right half is blue. */
export function picture (width = 64, height = 48): Sharp {
  const half = { width: Math.ceil(width / 2), height, channels: 3, background: 'red' } as const
  return sharp({ create: { width, height, channels: 3, background: 'blue' } })
    .composite([{ input: { create: half }, left: 0, top: 0 }])
}

export const jpeg = (width?: number, height?: number) => picture(width, height).jpeg({ quality: 95 }).toBuffer()
export const png = (width?: number, height?: number) => picture(width, height).png().toBuffer()
export const webp = (width?: number, height?: number) => picture(width, height).webp({ quality: 95 }).toBuffer()

/** A photo that says where it was taken, and by whom. */
export const withPlace = (by: string) => picture().withExif({
  IFD0: { Artist: by },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '45/1 27/1 0/1' }
}).jpeg().toBuffer()

/** A photo that lies in one of the eight ways of EXIF. */
export const lying = (orientation: number) => picture().withMetadata({ orientation }).jpeg().toBuffer()
