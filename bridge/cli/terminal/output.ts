import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'

/** Where a command says what it found. Colour is there for a terminal only, and never says anything by itself. */
export interface Terminal {
  /** Facts, as whole lines: stdout. */
  print(text: string): void
  /** Everything else, as whole lines: stderr. */
  note(text: string): void
  /**
   * Puts `text` in place of the last line on stderr, without a line end; nothing unless a person looks at it. What is noted
   * next takes its place.
   */
  overwrite(text: string): void
  colour(colour: Colour, text: string): string
  /** Whether a person sees stderr and can type. */
  isInteractive: boolean
  /** What is piped or typed in. */
  input: Readable
}

/** Colours of what is printed. */
export type Colour = 'green' | 'yellow' | 'red' | 'dim' | 'bold'

/** The two streams that carry JSON-RPC. Nobody else may use them while they do. */
export interface ProtocolStreams {
  input: Readable
  output: Writable
}

/**
 * stdin and stdout of this process. That nobody reads stderr any more is no reason to end. Whoever takes them writes what is
 * left in its own time: {@link endProcess} does not wait for it again.
 */
export function protocolStreams(): ProtocolStreams {
  process.stderr.on('error', ignoreClosedPipe)
  flushMs = 0
  return { input: process.stdin, output: process.stdout }
}

/** Back to the first column, and nothing is on the line. */
const emptyLine = '\r\u001B[2K'

/** The terminal, file or pipe that this process writes to. NO_COLOR and FORCE_COLOR are heeded. */
export function systemTerminal(): Terminal {
  // Whoever reads our output may stop early, as head does; that is no reason to fail.
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

/** How many characters fit into a line of stdout; undefined where that is no terminal. */
export function terminalColumns(): number | undefined {
  return isTerminal(process.stdout) ? process.stdout.columns : undefined
}

/** One line for people. Not a {@link Terminal}: in front of a client there is nothing but stderr. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** The types say that it is always there; pipes and files do not have it. */
function isTerminal(stream: { isTTY?: boolean }): boolean {
  return stream.isTTY === true
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

let flushMs = 500

/**
 * Ends the process once everything that was printed is out, or nobody takes it: kept connections and timers do not hold
 * it.
 */
export function endProcess(code: number): void {
  process.exitCode = code
  const end = (): void => process.exit(code)
  process.stdout.on('error', end)
  process.stdout.write('', end)
  setTimeout(end, flushMs)
}
