/**
 * Makes every line end of an event stream LF, as the pieces of its text come: LF, CRLF and CR alone end a line (HTML, event streams), and
 * after a CR nobody knows yet whether an LF follows. Parsers that wait for that hold the last event back for ever.
 */
export function lineEndings(): (piece: string) => string {
  let isAfterCr = false
  return (piece) => {
    const text = isAfterCr && piece.startsWith('\n') ? piece.slice(1) : piece
    if (piece !== '') isAfterCr = piece.endsWith('\r')
    return text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text
  }
}
