import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { OperatorRefusal } from '../../core/operator/operation.ts'

/** One question. */
interface Question {
  text: string
  /** The answer to an empty line. Without it, an empty line asks again. */
  fallback?: string | undefined
  /** Throws a `TypeError` that says what is expected. */
  parse: (answer: string) => unknown
  /** What is typed is not shown. */
  isHidden?: boolean | undefined
}

export interface Dialogue {
  /** Asks until the answer can be parsed. Rejects at Ctrl-C and at the end of the input. */
  ask(question: Question): Promise<string>
  close(): void
}

/** Opens a dialogue on the terminal, beside stdout. Without a terminal, or unless it `isWanted`, each answer is the default. */
export function openDialogue(isWanted: boolean): Dialogue {
  const { stdin, stderr } = process
  if (!isWanted || !stdin.isTTY || !stderr.isTTY)
    return { ask: ({ fallback = '' }) => Promise.resolve(fallback), close: () => {} }
  const ended = new AbortController()
  let isHidden = false
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isHidden) stderr.write(chunk)
      done()
    },
  })
  const lines = createInterface({ input: stdin, output, terminal: true })
  lines.once('close', () => ended.abort())
  return {
    async ask({ text, fallback, parse, isHidden: hides = false }) {
      for (;;) {
        const shown = fallback ? `${text} [${fallback}]: ` : `${text}: `
        const reading = lines.question(shown, { signal: ended.signal })
        isHidden = hides
        const given = await reading.catch(() => {
          throw new OperatorRefusal(409, 'Stopped. Nothing was written.')
        })
        if (hides) stderr.write('\n')
        isHidden = false
        const answer = given.trim() || fallback
        try {
          if (answer === '') return answer
          if (answer === undefined) throw new TypeError('expected an answer')
          parse(answer)
          return answer
        } catch (error) {
          if (!(error instanceof TypeError)) throw error
          stderr.write(`  ${error.message}.\n`)
        }
      }
    },
    close: () => lines.close(),
  }
}
