// The tools of the conformance suite, and two that show what happens to a cancelled call.
import type { ToolDeclaration } from '../../server/mcp/tools/tool-module.ts'
import { tools as everything } from '../conformance/everything-tools.ts'

export { asksClient, register, start } from '../conformance/everything-tools.ts'

let begun = 0
let cancelled = 0

/** The plain tools. */
export const tools: readonly ToolDeclaration[] = [
  ...everything,
  {
    name: 'wait_for_the_end',
    description: 'Says that it has begun, and waits until it is cancelled.',
    call: (_input, { signal, progress }) =>
      new Promise((resolve) => {
        begun += 1
        progress(0, 1, 'begun')
        signal.addEventListener('abort', () => {
          cancelled += 1
          resolve('Cancelled.')
        })
      }),
  },
  {
    name: 'count_waiting',
    description: 'Tells how many calls of wait_for_the_end have begun and been cancelled.',
    call: () => JSON.stringify({ begun, cancelled }),
  },
]
