import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/**
 * Asks a person who sits in front of a terminal. An empty line is `otherwise`; an end of the input, and any answer that is
 * neither yes nor no, is no.
 */
export async function confirmed(
  question: string,
  otherwise: boolean,
  ports: { input: Readable; overwrite(text: string): void },
): Promise<boolean> {
  ports.overwrite(`${question} ${otherwise ? '[Y/n]' : '[y/N]'} `)
  const lines = createInterface({ input: ports.input })
  const answer = await new Promise<string | undefined>((resolve) => {
    lines.once('line', resolve)
    lines.once('close', () => resolve(undefined))
  })
  lines.close()
  if (answer?.trim() === '') return otherwise
  return /^y(?:es)?$/i.test(answer?.trim() ?? '')
}
