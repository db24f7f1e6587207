import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { LineSplitter } from '@drawbridge/shared/mcp/line-splitter.ts'
import { type OperatorPorts, OperatorRefusal } from '../core/operator/operation.ts'

/** Longer than any line of the audit trail. Of longer ones only the beginning is returned. */
const maxLineBytes = 1024 * 1024

/** `path`: the file of AUDIT. Stdin is that of this process. Rejects with {@link OperatorRefusal}. */
export function auditReader(path: string | undefined): OperatorPorts['auditLines'] {
  return (from) => (from === 'stdin' ? linesOf(process.stdin) : linesOfFiles(path, from))
}

/** Opens the files before it reads the first, so that a rotation in the meantime neither hides nor repeats one. */
async function* linesOfFiles(path: string | undefined, since: number): AsyncGenerator<readonly string[]> {
  if (path === undefined) throw new OperatorRefusal(409, noFile, nextStep)
  const files: { name: string; file: FileHandle }[] = []
  try {
    for (const name of await rotatedFiles(path, since)) files.push({ name, file: await open(name) })
    for (const { name, file } of files) {
      const bytes = file.createReadStream()
      yield* linesOf(name.endsWith('.gz') ? pipeline(bytes, createGunzip(), () => {}) : bytes)
    }
  } catch (error) {
    throw new OperatorRefusal(409, `The file of AUDIT cannot be read: ${(error as Error).message}.`, nextStep)
  } finally {
    await Promise.all(files.map(({ file }) => file.close()))
  }
}

const noFile = 'There is no record of calls. Set DRAWBRIDGE_AUDIT to a file: it gets those from then on.'
const nextStep = 'A file of another user or machine: drawbridge-server usage - < FILE'

/** Returns the file and what logrotate has made of it: `NAME.1`, `NAME-20270115`, each also with `.gz`. */
async function rotatedFiles(path: string, since: number): Promise<string[]> {
  if (!(await stat(path)).isFile()) throw new Error(`${path} is not a regular file`)
  const names = new Set((await readdir(dirname(path))).filter((name) => name.startsWith(basename(path))))
  const files: string[] = []
  for (const name of names) {
    if (!/^(?:[.-]\d[\d-]*(?:\.gz)?)?$/.test(name.slice(basename(path).length))) continue
    // While it is being compressed, there are both.
    if (name.endsWith('.gz') && names.has(name.slice(0, -'.gz'.length))) continue
    const file = join(dirname(path), name)
    if ((await stat(file)).mtimeMs >= since * 1000) files.push(file)
  }
  return files
}

async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder()
  let lines: string[] = []
  const splitter = new LineSplitter(maxLineBytes, {
    line: (bytes) => void lines.push(decoder.decode(bytes)),
    tooLong: (head) => void lines.push(decoder.decode(head)),
  })
  for await (const chunk of input) {
    splitter.push(chunk)
    yield lines
    lines = []
  }
  splitter.end()
  yield lines
}
