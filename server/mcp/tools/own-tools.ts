import { credentialKinds } from '../../core/tokens/caller.ts'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod/v4'
import { textResult, toolError } from './tool-result.ts'
import type { ToolContext, ToolDeclaration } from './tool-module.ts'

const notesPath = '/api/notes'
const maxNoteLength = 2000

const noteSchema = z.object({ id: z.string(), text: z.string(), created_at: z.string() })
const noteListSchema = z.object({ notes: z.array(noteSchema) })

const addInput = z.object({
  text: z.string().trim().min(1).max(maxNoteLength).describe('The text of the note.'),
})
// The id becomes part of a path, where `.` and `..` would lead elsewhere, even percent-encoded.
const noteId = /^[\w-]{1,100}$/
const deleteInput = z.object({
  id: z.string().regex(noteId, 'must be an id that list_notes gives').describe('The id of the note.'),
})

/** The tools of the demo web app, which the embedded provider signs people in to: the user's notes, called as the user. */
export const notesTools: readonly ToolDeclaration[] = [
  {
    name: 'list_notes',
    title: 'List notes',
    description: "Lists the user's notes in the web app, newest first, with their ids.",
    outputSchema: noteListSchema,
    annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
    call: (_input, context) =>
      callNotes(context, { method: 'GET' }, async (response) => {
        const { notes } = noteListSchema.parse(await response.json())
        const lines = notes.map(({ id, text }) => `${id}: ${text}`)
        return textResult(lines.length > 0 ? lines.join('\n') : 'There are no notes yet.', { notes })
      }),
  },
  {
    name: 'add_note',
    title: 'Add a note',
    description: "Adds a note to the user's notes in the web app and answers its id.",
    inputSchema: addInput,
    outputSchema: noteSchema,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    call: ({ text }: z.output<typeof addInput>, context) =>
      callNotes(context, { method: 'POST', body: { text } }, async (response) => {
        const note = noteSchema.parse(await response.json())
        return textResult(`Added note ${note.id}.`, note)
      }),
  },
  {
    name: 'delete_note',
    title: 'Delete a note',
    description: "Deletes one of the user's notes in the web app, by the id that list_notes gives.",
    inputSchema: deleteInput,
    outputSchema: z.object({ id: z.string() }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    call: ({ id }: z.output<typeof deleteInput>, context) =>
      callNotes(context, { method: 'DELETE', id }, async () => textResult(`Deleted note ${id}.`, { id })),
  },
]

/** Calls the notes API as the user. A failure becomes a tool error that names the next step. */
async function callNotes(
  context: ToolContext,
  { method, id, body }: { method: 'GET' | 'POST' | 'DELETE'; id?: string; body?: unknown },
  read: (response: Response) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  // Outside the try: a missing token is our fault, not the web app's.
  const headers = {
    authorization: `Bearer ${context.providerToken()}`,
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  try {
    const path = id === undefined ? notesPath : `${notesPath}/${id}`
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await context.fetch(path, { method, headers, ...sent })
    return await (response.ok ? read(response) : refusal(response))
  } catch {
    return toolError('The web app cannot be reached, or its response is not readable. Try again in a moment.')
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

/** Shows the model which account it acts for. Works with every web app. */
export const whoamiTool: ToolDeclaration = {
  name: 'whoami',
  title: 'Who am I',
  description: 'Tells which account of the web app this connection acts as, and how it was authenticated.',
  outputSchema: z.strictObject({
    sub: z.string(),
    email: z.string().optional(),
    name: z.string().optional(),
    credential: z.enum(credentialKinds),
  }),
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
  call(_input, { user: { sub, email, name }, credential }) {
    const identity = { sub, ...(email && { email }), ...(name && { name }), credential }
    return textResult(`You are ${email ?? sub}.`, identity)
  },
}
