import type { KeyRing, Sealer } from '../../core/seal.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { parseExactJson } from '@drawbridge/shared/exact-json.ts'
import { type JsonObject, isJsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { messagesIn } from '../incoming.ts'

/**
 * Seals an upstream session id for a client. Only the same user and client can use it, in the same workspace. If the session began without a sign-in, any holder
 * can use the id, so that the client can continue after signing in.
 */
export function sealSession(id: string, caller: Caller, sealer: Sealer): string {
  return sealer.seal(id, contextOf(caller))
}

/** Returns undefined for an id that was not sealed for this caller. */
export function openSession(sealed: string, caller: Caller, sealer: Sealer): string | undefined {
  return sealer.open(sealed, contextOf(caller)) ?? sealer.open(sealed, contextOf({}))
}

function contextOf({
  user,
  clientId,
  workspace,
}: Partial<Pick<Caller, 'user' | 'clientId' | 'workspace'>>): string {
  return JSON.stringify(['session of the upstream', user?.id, clientId, workspace?.id])
}

type TaskOwner = Partial<Pick<Caller, 'user' | 'workspace'>>

/**
 * Marks the upstream's task ids so that only the same user can use them, in the same workspace. A task always has the same mark, since clients compare ids. As
 * with sessions, any holder can use the id of a task that began without a sign-in.
 */
export class TaskIds {
  readonly #ring: KeyRing

  constructor(ring: KeyRing) {
    this.#ring = ring
  }

  give(id: string, caller: Caller): string {
    const [current] = this.#ring.keys()
    if (!current) throw new TypeError('A key ring holds at least one key.')
    return `${id}.${markOf(current.key, id, caller)}`
  }

  /** Returns the upstream's id; undefined for an id that was not given to this caller. */
  own(given: string, caller: Caller): string | undefined {
    const found = this.#find(given, caller)
    if (found !== undefined) return found
    this.#ring.refresh()
    return this.#find(given, caller)
  }

  #find(given: string, caller: Caller): string | undefined {
    const end = given.lastIndexOf('.')
    if (end < 0) return undefined
    const [id, mark] = [given.slice(0, end), Buffer.from(given.slice(end + 1))]
    const isMark = (expected: Buffer): boolean =>
      expected.length === mark.length && timingSafeEqual(expected, mark)
    const owners = [caller, {}]
    return this.#ring
      .keys()
      .some(({ key }) => owners.some((owner) => isMark(Buffer.from(markOf(key, id, owner)))))
      ? id
      : undefined
  }
}

function markOf(key: Uint8Array, id: string, { user, workspace }: TaskOwner): string {
  const ownKey = Buffer.from(hkdfSync('sha256', key, '', 'tasks of the upstream', 32))
  return createHmac('sha256', ownKey)
    .update(JSON.stringify([user?.id, workspace?.id, id]))
    .digest('base64url')
    .slice(0, 22)
}

/** How a message uses a task id: it requests something of the task, reports on it, or is related to it. */
type IdUse = 'requested' | 'reported' | 'related'
/** Returns the new id. Some servers accept ids that are not text: these stay as they are. */
type ChangeId = (id: unknown, use: IdUse) => unknown

/**
 * Returns the upstream's task ids by those in a client's messages; undefined if one is not the caller's. Keeps the id of a related task
 * that the client itself created at the upstream's request.
 */
export function ownTaskIds(body: unknown, caller: Caller, ids: TaskIds): Map<string, string> | undefined {
  const own = new Map<string, string>()
  let areOwn = true
  for (const message of messagesIn(body))
    withIds(message, (given, use) => {
      if (use === 'reported') return given
      const id = typeof given === 'string' ? ids.own(given, caller) : undefined
      if (id === undefined && use === 'requested') areOwn = false
      if (typeof given === 'string') own.set(given, id ?? given)
      return given
    })
  return areOwn ? own : undefined
}

/** Returns the text of a message or batch with the upstream's task ids, and otherwise unchanged. */
export function withTaskIds(text: string, own: ReadonlyMap<string, string>): string {
  if ([...own].every(([given, id]) => given === id)) return text
  const change = (message: unknown): unknown =>
    isJsonObject(message)
      ? withIds(message, (id, use) => (use === 'reported' ? id : (own.get(id as string) ?? id)))
      : message
  const body = parseExactJson(text)
  return JSON.stringify(Array.isArray(body) ? body.map(change) : change(body))
}

/**
 * Returns the upstream's message with task ids marked for this caller. Leaves an id of the client's own task, as {@link ownTaskIds}
 * found it, unmarked.
 */
export function withGivenTaskIds(
  message: JsonObject,
  caller: Caller,
  ids: TaskIds,
  own: ReadonlyMap<string, string>,
): JsonObject {
  return withIds(message, (id, use) => {
    if (typeof id !== 'string' || use === 'requested') return id
    return use === 'related' && own.get(id) === id ? id : ids.give(id, caller)
  })
}

/** Returns a copy of the message with each task id changed. */
function withIds(message: JsonObject, change: ChangeId): JsonObject {
  const { method, params, result } = message
  const name = typeof method === 'string' ? method : ''
  const withReported = (task: unknown): unknown => withId(task, change, 'reported')
  const copy = { ...message }
  if (isJsonObject(params)) {
    const use = name.startsWith('tasks/') ? 'requested' : 'reported'
    const part = /^(?:notifications\/)?tasks(?:\/|$)/.test(name) ? withId(params, change, use) : params
    copy['params'] = withFilter(withRelated(part, change), change, name)
  }
  if (isJsonObject(result)) {
    const { task, tasks } = result
    copy['result'] = withRelated(
      {
        ...withId(result, change, 'reported'),
        ...(task !== undefined && { task: withReported(task) }),
        ...(Array.isArray(tasks) && { tasks: tasks.map(withReported) }),
      },
      change,
    )
  }
  return copy
}

function withId<Task>(task: Task, change: ChangeId, use: IdUse): Task {
  if (!isJsonObject(task) || (task['taskId'] ?? null) === null) return task
  return { ...task, taskId: change(task['taskId'], use) }
}

function withRelated(part: JsonObject, change: ChangeId): JsonObject {
  const related = metaOf(part)[mcpMetaKey.relatedTask]
  if (!isJsonObject(related)) return part
  return { ...part, _meta: { ...metaOf(part), [mcpMetaKey.relatedTask]: withId(related, change, 'related') } }
}

/** Changes the task ids in a subscription filter. */
function withFilter(params: JsonObject, change: ChangeId, method: string): JsonObject {
  const filter = params['notifications']
  if (!isJsonObject(filter) || (filter['taskIds'] ?? null) === null) return params
  const use = method === 'subscriptions/listen' ? 'requested' : 'reported'
  const given = filter['taskIds']
  const taskIds = Array.isArray(given) ? given.map((id: unknown) => change(id, use)) : change(given, use)
  return { ...params, notifications: { ...filter, taskIds } }
}
