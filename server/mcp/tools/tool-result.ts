import type { CallToolResult } from '@modelcontextprotocol/server'

/** A result with one text. */
export function textResult(text: string, structuredContent?: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text }], ...(structuredContent && { structuredContent }) }
}

/** A result that tells the model what went wrong and what to do next. */
export function toolError(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

const failures = new WeakSet<object>()

/** The message to the client for an error whose details are in the log. */
export const failureText =
  'failed on the server. Try again; if it keeps failing, tell the operator of the server.'

/** The result of a tool that threw or returned something invalid: {@link outcomeOf} tells it from other errors. */
export function toolFailure(): CallToolResult {
  const result = toolError(`The tool ${failureText}`)
  failures.add(result)
  return result
}

/** Returns the outcome of a call with this result. */
export function outcomeOf(result: object): 'ok' | 'tool_error' | 'failed' {
  if (failures.has(result)) return 'failed'
  return 'isError' in result && result.isError === true ? 'tool_error' : 'ok'
}

/** The message for a call of a tool that does not exist. */
export function unknownTool(name: string): string {
  return `There is no tool ${JSON.stringify(name.slice(0, 100))}. Call tools/list for the names.`
}
