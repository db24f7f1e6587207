import { text } from 'node:stream/consumers'
import type { Terminal } from './terminal.ts'

/** What comes on stdin, to its end. It is a secret: not for an argument, which every user of the machine can see. */
export async function readToken({ note }: Pick<Terminal, 'note'>): Promise<string> {
  if (process.stdin.isTTY) note('Paste an access token of the provider, then press Enter and Ctrl-D.')
  return text(process.stdin)
}
