import { styleText } from 'node:util'
import { asTyped } from '../startup/program-name.ts'

/** Where a command says what it found. Colour is there for a terminal only, and never says anything by itself. */
export interface Terminal {
  /** Facts, as whole lines: stdout. */
  print(text: string): void
  /** Everything else: stderr. */
  note(text: string): void
  colour(colour: Colour, text: string): string
}

/** Colours of what is printed. */
export type Colour = 'green' | 'yellow' | 'red' | 'dim'

/**
 * The terminal, file or pipe that this process writes to. NO_COLOR and FORCE_COLOR are heeded. Commands
 * of this program are printed in the form that the person can type.
 */
export const systemTerminal: Terminal = {
  print: (text) => void process.stdout.write(`${asTyped(text)}\n`),
  note: (text) => void process.stderr.write(`${asTyped(text)}\n`),
  colour: (colour, text) => styleText(colour, text, { stream: process.stdout }),
}
