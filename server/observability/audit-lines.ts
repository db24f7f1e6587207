import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { LineSplitter } from '@drawbridge/shared/mcp/line-splitter.ts'
import { type OperatorPorts, OperatorRefusal } from '../core/operator/operation.ts'

/** Longer than any line of the audit trail. Of longer ones only the beginning is returned. */
const maxLineBytes = 1024 * 1024

const noFile = 'There is no record of calls. Set DRAWBRIDGE_AUDIT to a file: it gets those from then on.'
const nextStep = 'A file of another user or machine: drawbridge-server usage - < FILE'

/** `path`: the file of AUDIT. Stdin is that of this process. Rejects with {@link OperatorRefusal}. */
export function auditReader(path: string | undefined): OperatorPorts['auditLines'] {
  return (from) => linesOf(from === '-' ? process.stdin : chunksOf(path))
}

async function* chunksOf(path: string | undefined): AsyncGenerator<Uint8Array> {
  if (path === undefined) throw new OperatorRefusal(409, noFile, nextStep)
  try {
    // A pipe would be waited for.
    if (!(await stat(path)).isFile()) throw new Error(`${path} is not a regular file`)
    yield* createReadStream(path)
  } catch (error) {
    throw new OperatorRefusal(409, `The file of AUDIT cannot be read: ${(error as Error).message}.`, nextStep)
  }
}

async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let lines: string[] = []
  const splitter = new LineSplitter(maxLineBytes, {
    line: (bytes) => void lines.push(decoder.decode(bytes)),
    tooLong: (head) => void lines.push(decoder.decode(head)),
  })
  for await (const chunk of input) {
    splitter.push(chunk)
    yield* lines
    lines = []
  }
  splitter.end()
  yield* lines
}
