import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
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
  people: z.int().describe('different users and services that called it, or were refused'),
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
    const { tallies, skipped } = await readTallies(auditLines(from), isMeant)
    if (skipped > 0) note(`Skipped lines that are broken, or not of the audit trail: ${skipped}.`)
    return tallies.map(entryOf).toSorted((one, other) => other.calls - one.calls)
  },
})

const tooMuch =
  'These are too many users and clients for one answer. Choose fewer calls, by since, tool, user or client.'

/**
 * Counts the calls of some lines. Throws {@link OperatorRefusal} for more than `maxHeld` users, each counted once for every entry.
 *
 * @internal
 */
export async function readTallies(
  lines: AsyncIterable<string>,
  isMeant: (call: Call) => boolean,
  maxHeld = 200_000,
): Promise<{ tallies: Tally[]; skipped: number }> {
  const tallies = new Map<string, Tally>()
  const users = new Set<string>()
  let skipped = 0
  for await (const line of lines) {
    const record = parseJsonObject(line)
    const isOther = typeof record?.['event'] === 'string' && record['event'] !== 'tool_called'
    if (isOther || line.trim() === '') continue
    const call = callSchema.safeParse(record).data
    if (!call) skipped += 1
    else if (isMeant(call)) addCall(call, tallies, users)
    if (users.size > maxHeld) throw new OperatorRefusal(409, tooMuch)
  }
  return { tallies: [...tallies.values()], skipped }
}

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

type Tally = Omit<UsageEntry, 'p50_ms'> & {
  /** How many calls took that long. */
  durations: Map<number, number>
}

function addCall(call: Call, tallies: Map<string, Tally>, users: Set<string>): void {
  const { tool, client_id, workspace, sub, outcome } = call
  const key = JSON.stringify([tool, client_id, workspace])
  const counts = { calls: 0, refused: 0, errors: 0, people: 0 }
  const tally = tallies.get(key) ?? { tool, client_id, workspace, ...counts, durations: new Map() }
  tallies.set(key, tally)
  const user = JSON.stringify([key, sub])
  if (sub !== undefined && !users.has(user)) tally.people += 1
  users.add(user)
  if (outcome.startsWith('refused_')) {
    tally.refused += 1
    return
  }
  const rounded = Number(call.duration_ms.toPrecision(3))
  tally.durations.set(rounded, (tally.durations.get(rounded) ?? 0) + 1)
  tally.calls += 1
  if (outcome === 'tool_error' || outcome === 'failed') tally.errors += 1
}

function entryOf({ durations, ...entry }: Tally): UsageEntry {
  let counted = 0
  const sorted = [...durations].toSorted(([one], [other]) => one - other)
  const median = sorted.find(([, calls]) => (counted += calls) * 2 >= entry.calls)
  return { ...entry, p50_ms: median?.[0] ?? null }
}
