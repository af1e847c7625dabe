import { Text } from './common.ts'

/** Multi-line text. Words longer than the PDF engine accepts are rejected here, where the error can name the field. */
export function Paragraphs (maxLength: number) {
  return Text(maxLength, {
    pattern: '^(?=[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f\\ud800-\\udfff]*$)(\\S{0,1000}(\\s|$))*$'
  })
}
