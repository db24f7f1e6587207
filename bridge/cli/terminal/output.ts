import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'

/** Output of a command. Colour is used on a terminal only, and never carries information. */
export interface Terminal {
  /** Prints facts to stdout, as whole lines. */
  print(text: string): void
  /** Prints everything else to stderr, as whole lines. */
  note(text: string): void
  /** Replaces the last line on stderr, on a terminal only. The next note replaces it. */
  overwrite(text: string): void
  colour(colour: Colour, text: string): string
  /** A user sees stderr and can type. */
  isInteractive: boolean
  input: Readable
}

export type Colour = 'green' | 'yellow' | 'red' | 'dim' | 'bold'

/** The two streams that carry JSON-RPC, which nothing else may use meanwhile. */
export interface ProtocolStreams {
  input: Readable
  output: Writable
}

/** Returns the streams of this process, which goes on when stderr is closed. The caller flushes its own output. */
export function protocolStreams(): ProtocolStreams {
  process.stderr.on('error', ignoreClosedPipe)
  isFlushed = true
  return { input: process.stdin, output: process.stdout }
}

/** Returns to the first column and clears the line. */
const emptyLine = '\r\u001B[2K'

/** Creates the terminal of this process. Honours NO_COLOR and FORCE_COLOR. */
export function systemTerminal(): Terminal {
  // A reader such as head may stop early, which is not a failure.
  process.stdout.on('error', ignoreClosedPipe)
  process.stderr.on('error', ignoreClosedPipe)
  const isInteractive = isTerminal(process.stderr) && isTerminal(process.stdin)
  let isLineOpen = false
  return {
    print: (text) => void process.stdout.write(`${text}\n`),
    note(text) {
      process.stderr.write(`${isLineOpen ? emptyLine : ''}${text}\n`)
      isLineOpen = false
    },
    overwrite(text) {
      if (!isInteractive) return
      process.stderr.write(`${emptyLine}${text}`)
      isLineOpen = text !== ''
    },
    colour: (colour, text) => styleText(colour, text, { stream: process.stdout }),
    isInteractive,
    get input() {
      return process.stdin
    },
  }
}

/** Returns the width of stdout in characters; undefined if it is not a terminal. */
export function terminalColumns(): number | undefined {
  return isTerminal(process.stdout) ? process.stdout.columns : undefined
}

/** Prints one line to stderr, the only output beside the protocol. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** The types always have `isTTY`; pipes and files do not. */
function isTerminal(stream: { isTTY?: boolean }): boolean {
  return stream.isTTY === true
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

let isFlushed = false

/** Ends the process once its reader, such as a pager, has taken or refused all output, even with open connections and timers. */
export function endProcess(code: number): void {
  process.exitCode = code
  const end = (): void => process.exit(code)
  process.stdout.on('error', end)
  process.stdout.write('', end)
  if (isFlushed) setTimeout(end, 0)
}
