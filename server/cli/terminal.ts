import { styleText } from 'node:util'
import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import type { Colour } from '../core/operator/operation.ts'
import { asTyped } from '../startup/program-name.ts'

/** The output of a command. Colour is for terminals only, and never the only sign. */
export interface Terminal {
  /** Prints facts to stdout, as whole lines. */
  print(text: string): void
  /** Prints everything else to stderr. */
  note(text: string): void
  colour: Colour
}

/** The output of this process. Follows NO_COLOR and FORCE_COLOR, and prints commands of this program as they were typed. */
export const systemTerminal: Terminal = {
  print: (text) => void process.stdout.write(`${asTyped(text)}\n`),
  note: (text) => void process.stderr.write(`${asTyped(text)}\n`),
  colour: (colour, text) => styleText(colour, text, { stream: process.stdout }),
}

/** Prints what a command found: for programs the facts as JSON, for people a text. */
export function printFacts(
  { json, terminal }: { json: boolean; terminal: Terminal },
  facts: object,
  text: string,
): void {
  terminal.print(json ? jsonForTerminal(facts) : text)
}
