import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJsonText } from '@drawbridge/shared/json-text.ts'
import { durationParser } from '@drawbridge/shared/settings/value.ts'
import { z } from 'zod'
import { flagValues, listText, operation, OperatorRefusal, optionalText } from './operation.ts'

const entrySchema = z.object({
  tool: z.string().nullable().describe('null: all names that the server does not have'),
  client_id: z.string().nullable().describe('null: calls with a credential of the session provider, or none'),
  workspace: z.string().nullable().describe('its id; null: none'),
  calls: z.int().describe('calls that were not refused'),
  refused: z.int().describe('calls that a scope, a rule or a limit refused'),
  errors: z.int().describe('calls that failed, or whose tool reported an error'),
  people: z.int().describe('different users who called it, or were refused'),
  p50_ms: z.number().nullable().describe('median duration of the calls, to three digits; null: no call'),
})

type UsageEntry = z.output<typeof entrySchema>

const columns = Object.fromEntries(
  entrySchema.keyof().options.map((name) => [name, (row: UsageEntry) => row[name]]),
)

const parsePeriod = durationParser({ unitMs: 1000, max: '9999d', examples: '12h or 7d' })

export const readUsageOperation = operation({
  summary: 'Count the tool calls of the audit trail, by tool, client and workspace.',
  input: z.strictObject({
    from: z
      .literal('-', { error: 'expected -, or nothing for the file of AUDIT' })
      .optional()
      .describe('audit lines on stdin instead of the file of AUDIT'),
    since: z
      .string()
      .regex(/^[1-9]\d{0,3}[smhd]$/, { error: 'expected a number and its unit, such as 12h or 7d' })
      .optional()
      .describe('only the last hours or days, such as 12h or 7d')
      .register(flagValues, { value: '<duration>' }),
    tool: optionalText('only of the tool with this name', '<name>'),
    user: optionalText('only of the user with this id at the session provider', '<sub>'),
    client: optionalText('only of the client with this id', '<id>'),
  }),
  result: z
    .array(entrySchema)
    .describe('One entry for each tool, client and workspace; the most calls first.'),
  routes: [
    {
      id: 'readUsage',
      request: 'GET /usage',
      refusals: { 409: 'AUDIT is not set, its file cannot be read, or too much is in it for one answer.' },
    },
  ],
  command: {
    usage: 'usage [-]',
    operand: 'from',
    examples: [
      'usage --since 7d',
      'usage --tool add_note --client mcpc_Zm9vYmFyYmF6cXV4 --json',
      'usage - < audit.jsonl',
    ],
    settings: ['audit'],
    text: (entries) => listText(entries, columns, 'No calls.'),
  },
  async handle({ from, since, tool, user, client }, { auditLines, note, runtime }) {
    const start = since === undefined ? 0 : runtime.now() - parsePeriod(since)
    const isMeant = (call: Call): boolean =>
      Date.parse(call.time) >= start * 1000 &&
      (tool === undefined || call.tool === tool) &&
      (user === undefined || call.sub === user) &&
      (client === undefined || call.client_id === client)
    const { tallies, skipped } = await readTallies(auditLines(from === '-' ? 'stdin' : start), isMeant)
    if (skipped > 0) note(`Skipped lines that are broken, or not of the audit trail: ${skipped}.`)
    return tallies.map(entryOf).toSorted((one, other) => other.calls - one.calls)
  },
})

/**
 * Holds at most `maxHeld` users and durations over all entries, of which each counts as ten. Throws {@link OperatorRefusal} if there are more.
 *
 * @internal
 */
export async function readTallies(
  batches: AsyncIterable<readonly string[]>,
  isMeant: (call: Call) => boolean,
  maxHeld = 400_000,
): Promise<{ tallies: Tally[]; skipped: number }> {
  const tallies = new Map<string, Tally>()
  let [held, skipped] = [0, 0]
  for await (const lines of batches) {
    for (const line of lines) {
      const call = readCall(line)
      if (call === 'invalid') skipped += 1
      else if (call !== 'other' && isMeant(call)) held += addCall(call, tallies)
    }
    if (held > maxHeld) throw new OperatorRefusal(409, tooMuch)
  }
  return { tallies: [...tallies.values()], skipped }
}

const tooMuch =
  'These are too many users and clients for one answer. Choose fewer calls, by since, tool, user or client.'

/** The members of `tool_called` that count. Of names that the server does not have, which clients make up, `tool` is null. */
const callSchema = z
  .object({
    time: z.iso.datetime(),
    sub: z.string().optional(),
    client_id: z.string().nullable().default(null),
    workspace: z.string().nullable().default(null),
    tool: z.string(),
    unknown: z.boolean().optional(),
    outcome: z.string(),
    duration_ms: z.number(),
  })
  .transform((call) => ({ ...call, tool: call.unknown ? null : call.tool }))

type Call = z.output<typeof callSchema>

/** Returns `other` for other events and empty lines, `invalid` for lines that are foreign or not whole. */
function readCall(line: string): Call | 'other' | 'invalid' {
  if (line.trim() === '') return 'other'
  const json = readJsonText(line)
  const event = json.kind === 'json' && isJsonObject(json.value) ? json.value['event'] : undefined
  if (json.kind !== 'json' || typeof event !== 'string') return 'invalid'
  if (event !== 'tool_called') return 'other'
  return callSchema.safeParse(json.value).data ?? 'invalid'
}

type Tally = Omit<UsageEntry, 'people' | 'p50_ms'> & {
  users: Set<string>
  /** How many calls took that long. */
  durations: Map<number, number>
}

/** An entry takes about as much memory as ten users. */
const entryWeight = 10

/** Returns how much more is held than before. */
function addCall(
  { tool, client_id, workspace, sub, outcome, duration_ms: ms }: Call,
  tallies: Map<string, Tally>,
): number {
  const key = JSON.stringify([tool, client_id, workspace])
  const found = tallies.get(key)
  const counts = { calls: 0, refused: 0, errors: 0 }
  const tally = found ?? { tool, client_id, workspace, ...counts, users: new Set(), durations: new Map() }
  if (!found) tallies.set(key, tally)
  const { users, durations } = tally
  const before = found ? users.size + durations.size : -entryWeight
  if (sub !== undefined) users.add(sub)
  if (outcome.startsWith('refused_')) {
    tally.refused += 1
  } else {
    const rounded = Number(ms.toPrecision(3))
    durations.set(rounded, (durations.get(rounded) ?? 0) + 1)
    tally.calls += 1
    if (outcome === 'tool_error' || outcome === 'failed') tally.errors += 1
  }
  return users.size + durations.size - before
}

function entryOf({ users, durations, ...entry }: Tally): UsageEntry {
  let counted = 0
  const sorted = [...durations].toSorted(([one], [other]) => one - other)
  const median = sorted.find(([, calls]) => (counted += calls) * 2 >= entry.calls)
  return { ...entry, people: users.size, p50_ms: median?.[0] ?? null }
}
