// Tools on the table of notes.sql. They run as the user who signed in: the database decides which rows that user may
// read and write, by its row-level security. There is no key here that could do more.

const table = '/rest/v1/notes'

export const serverInfo = { name: 'notes', title: 'Notes' }

export const instructions =
  'The notes of the user. Start with list_notes: the other tools need the ids it gives.'

export const scopes = { 'notes:write': 'Add, change and delete your notes' }

const id = { type: 'string', format: 'uuid', description: 'The id of the note, from list_notes.' }
const text = { type: 'string', minLength: 1, maxLength: 2000, description: 'The text of the note.' }
const note = {
  type: 'object',
  properties: { id, text, created_at: { type: 'string' } },
  required: ['id', 'text', 'created_at'],
}

export const tools = [
  {
    name: 'list_notes',
    title: 'List notes',
    description: "Lists the user's notes, newest first; with search, only those that contain a text.",
    inputSchema: {
      type: 'object',
      properties: {
        search: { type: 'string', minLength: 1, maxLength: 100 },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
      },
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: { notes: { type: 'array', items: note } },
      required: ['notes'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    call({ search, limit = 20 }, context) {
      const query = { select: 'id,text,created_at', order: 'created_at.desc', limit: String(limit) }
      // Asterisks stand for anything; what the model writes is data, and encoded as such.
      if (search !== undefined) query.text = `ilike.*${search.replaceAll('*', '')}*`
      return withRows(context, query, {}, (notes) => ({ structuredContent: { notes } }))
    },
  },
  {
    name: 'add_note',
    title: 'Add a note',
    description: 'Adds a note and answers its id.',
    scope: 'notes:write',
    inputSchema: { type: 'object', properties: { text }, required: ['text'], additionalProperties: false },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    call: (input, context) =>
      withRows(context, { select: 'id' }, { method: 'POST', body: { text: input.text } }, ([added]) => {
        return `Added note ${added.id}.`
      }),
  },
  {
    name: 'change_note',
    title: 'Change a note',
    description: 'Replaces the text of one note.',
    scope: 'notes:write',
    inputSchema: {
      type: 'object',
      properties: { id, text },
      required: ['id', 'text'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    call: (input, context) =>
      withRows(
        context,
        { id: `eq.${input.id}`, select: 'id' },
        { method: 'PATCH', body: { text: input.text } },
        ([changed]) => (changed ? `Changed note ${changed.id}.` : missing),
      ),
  },
  {
    name: 'delete_note',
    title: 'Delete a note',
    description: 'Deletes one note.',
    scope: 'notes:write',
    inputSchema: { type: 'object', properties: { id }, required: ['id'], additionalProperties: false },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    call: (input, context) =>
      withRows(context, { id: `eq.${input.id}`, select: 'id' }, { method: 'DELETE' }, ([deleted]) => {
        return deleted ? `Deleted note ${deleted.id}.` : missing
      }),
  },
]

/** Also what somebody hears who names a note of somebody else: for them there is none. */
const missing = failure('There is no such note. Call list_notes for the ids that exist.')

/** One call of the data API. What goes wrong there becomes a text for the model, without its details. */
async function withRows(context, query, { method = 'GET', body }, answer) {
  const response = await context.fetch(`${table}?${new URLSearchParams(query)}`, {
    method,
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      prefer: 'return=representation',
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (response.ok) return answer(await response.json())
  if (response.status === 401) return failure('The sign-in behind this connection has ended. Sign in again.')
  if (response.status === 403) return failure('You may not do that with these notes.')
  return failure(`The notes cannot be used right now (status ${response.status}). Try again in a moment.`)
}

function failure(words) {
  return { isError: true, content: [{ type: 'text', text: words }] }
}
