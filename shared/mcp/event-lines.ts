/**
 * Turns every line end of an event stream into LF, piece by piece: LF, CRLF and CR alone end a line (HTML, event streams). A parser that
 * waits after a CR for an LF would hold the last event back forever.
 */
export function lineEndings(): (piece: string) => string {
  let isAfterCr = false
  return (piece) => {
    const text = isAfterCr && piece.startsWith('\n') ? piece.slice(1) : piece
    if (piece !== '') isAfterCr = piece.endsWith('\r')
    return text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text
  }
}
