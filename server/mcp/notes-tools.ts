import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { z } from 'zod/v4'
import { defineTool, textResult, type ToolContext, type ToolDefinition, toolError } from './tool.ts'

const callTimeoutMs = 10_000
const maxNoteLength = 2000

const noteSchema = z.object({ id: z.string(), text: z.string(), created_at: z.string() })
const noteListSchema = z.object({ notes: z.array(noteSchema) })

/** The tools of the demo web app at `appUrl`: the user's notes, called as the user. */
export function createNotesTools(appUrl: string, runtime: Pick<Runtime, 'fetch'>): ToolDefinition[] {
  const notesUrl = `${appUrl}/api/notes`

  /** One call of the notes API as the user; what fails becomes a tool error that names the next step. */
  async function callNotes(
    { caller, signal }: ToolContext,
    call: { method: 'GET' | 'POST' | 'DELETE'; id?: string; body?: unknown },
    read: (response: Response) => Promise<CallToolResult>,
  ): Promise<CallToolResult> {
    // Outside the try: a token that cannot be had is our fault, not the web app's.
    const request = new Request(
      call.id === undefined ? notesUrl : `${notesUrl}/${encodeURIComponent(call.id)}`,
      {
        method: call.method,
        headers: {
          authorization: `Bearer ${caller.providerToken()}`,
          accept: 'application/json',
          ...(call.body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
        redirect: 'error',
      },
    )
    try {
      return await withTimeout(signal, async (either) => {
        const response = await runtime.fetch(request, { signal: either })
        return response.ok ? read(response) : refusal(response)
      })
    } catch {
      return toolError('The web app cannot be reached or answers nothing readable. Try again in a moment.')
    }
  }

  return [
    defineTool({
      name: 'list_notes',
      title: 'List notes',
      description: "Lists the user's notes in the web app, newest first, with their ids.",
      input: z.object({}),
      annotations: { readOnlyHint: true, openWorldHint: false },
      call: (_input, context) =>
        callNotes(context, { method: 'GET' }, async (response) => {
          const { notes } = noteListSchema.parse(await response.json())
          const lines = notes.map(({ id, text }) => `${id}: ${text}`)
          return textResult(lines.length > 0 ? lines.join('\n') : 'There are no notes yet.', { notes })
        }),
    }),
    defineTool({
      name: 'add_note',
      title: 'Add a note',
      description: "Adds a note to the user's notes in the web app and answers its id.",
      input: z.object({
        text: z.string().trim().min(1).max(maxNoteLength).describe('The text of the note.'),
      }),
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: false,
      },
      call: ({ text }, context) =>
        callNotes(context, { method: 'POST', body: { text } }, async (response) => {
          const note = noteSchema.parse(await response.json())
          return textResult(`Added note ${note.id}.`, note)
        }),
    }),
    defineTool({
      name: 'delete_note',
      title: 'Delete a note',
      description: "Deletes one of the user's notes in the web app, by the id that list_notes gives.",
      input: z.object({ id: z.string().min(1).max(100).describe('The id of the note.') }),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      call: ({ id }, context) =>
        callNotes(context, { method: 'DELETE', id }, async () => textResult(`Deleted note ${id}.`, { id })),
    }),
  ]
}

/**
 * Makes `call` with a signal that ends it when `given` does, and after ten seconds. `AbortSignal.any` would do, if Node 22
 * did not collect a time-out that is in use there only.
 */
async function withTimeout<T>(given: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const either = new AbortController()
  const end = (): void => either.abort()
  const timeout = AbortSignal.timeout(callTimeoutMs)
  if (given.aborted) end()
  given.addEventListener('abort', end)
  timeout.addEventListener('abort', end)
  try {
    return await call(either.signal)
  } finally {
    given.removeEventListener('abort', end)
    timeout.removeEventListener('abort', end)
  }
}

async function refusal(response: Response): Promise<CallToolResult> {
  await response.body?.cancel()
  switch (response.status) {
    case 401:
      return toolError('The web app did not accept the sign-in behind this connection. Sign in again.')
    case 404:
      return toolError('There is no such note. Call list_notes for the ids that exist.')
    default:
      return toolError(
        `The web app refused with status ${response.status}. Check the arguments and try again.`,
      )
  }
}
