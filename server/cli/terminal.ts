import { styleText } from 'node:util'
import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import { textTable } from '@drawbridge/shared/terminal/table.ts'
import type { Printed } from '../core/operator/operation.ts'
import { asTyped } from '../startup/program-name.ts'

/** The output of a command. Colour is for terminals only, and never the only sign. */
export interface Terminal {
  /** Prints facts to stdout, as whole lines. */
  print(text: string): void
  /** Prints everything else to stderr. */
  note(text: string): void
  colour(colour: Colour, text: string): string
}

type Colour = 'green' | 'yellow' | 'red' | 'dim'

/** The output of this process. Follows NO_COLOR and FORCE_COLOR, and prints commands of this program as they were typed. */
export const systemTerminal: Terminal = {
  print: (text) => void process.stdout.write(`${asTyped(text)}\n`),
  note: (text) => void process.stderr.write(`${asTyped(text)}\n`),
  colour: (colour, text) => styleText(colour, text, { stream: process.stdout }),
}

/** Prints what a command found: for programs the facts as JSON, for people a text, or a table below its head. */
export function printFacts(
  { json, terminal }: { json: boolean; terminal: Terminal },
  facts: object,
  text: Printed['text'],
): void {
  if (json) return terminal.print(jsonForTerminal(facts))
  if (typeof text === 'string') return terminal.print(text)
  terminal.print(text.rows.length === 0 ? text.none : textTable(text.head, text.rows))
}
