const BOUNDARY = 'confine'
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

export type Part = readonly [name: string, content: string | Buffer, filename?: string]

/** A form as browsers send it. */
export function form (parts: readonly Part[]): Buffer {
  return Buffer.concat([...parts.flatMap(([name, content, filename]) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"` +
      (filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: image/jpeg`) + '\r\n\r\n'),
    Buffer.from(content as string),
    Buffer.from('\r\n')
  ]), Buffer.from(`--${BOUNDARY}--\r\n`)])
}
