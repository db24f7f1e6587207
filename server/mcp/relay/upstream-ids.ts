import type { KeyRing, Sealer } from '../../core/seal.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { type JsonObject, isJsonObject } from '@drawbridge/shared/json-object.ts'
import { metaOf, paramsOf } from '@drawbridge/shared/mcp/params.ts'
import { messagesIn } from '../incoming.ts'

/**
 * The id of a session of the upstream, as clients get it: sealed, and of use to the same user and client alone. One that began without
 * sign-in is of use to whoever holds its id, so that its client can go on once somebody has signed in.
 */
export function sealSession(id: string, caller: Caller, sealer: Sealer): string {
  return sealer.seal(id, contextOf(caller))
}

/** Undefined for what was not sealed for this caller. */
export function openSession(sealed: string, caller: Caller, sealer: Sealer): string | undefined {
  return sealer.open(sealed, contextOf(caller)) ?? sealer.open(sealed, contextOf({}))
}

function contextOf({ user, clientId }: Partial<Pick<Caller, 'user' | 'clientId'>>): string {
  return JSON.stringify(['session of the upstream', user?.id, clientId])
}

const relatedTask = 'io.modelcontextprotocol/related-task'

/**
 * Ids of the upstream's tasks, as clients get them: with a mark that makes them of use to the same person alone. The mark of a task is
 * always the same, since clients compare ids. A task that began without sign-in is of use to any holder of its id, as a session is.
 */
export class TaskIds {
  readonly #ring: KeyRing

  constructor(ring: KeyRing) {
    this.#ring = ring
  }

  give(id: string, { user }: Caller): string {
    const [current] = this.#ring.keys()
    if (!current) throw new TypeError('A key ring holds at least one key.')
    return `${id}.${markOf(current.key, id, user?.id)}`
  }

  /** The upstream's own id; undefined for what was not given to this caller. */
  own(given: string, caller: Caller): string | undefined {
    const found = this.#find(given, caller)
    if (found !== undefined) return found
    this.#ring.refresh()
    return this.#find(given, caller)
  }

  #find(given: string, { user }: Caller): string | undefined {
    const end = given.lastIndexOf('.')
    if (end < 0) return undefined
    const [id, mark] = [given.slice(0, end), Buffer.from(given.slice(end + 1))]
    const isMark = (expected: Buffer): boolean =>
      expected.length === mark.length && timingSafeEqual(expected, mark)
    const owners = [user?.id, undefined]
    return this.#ring
      .keys()
      .some(({ key }) => owners.some((owner) => isMark(Buffer.from(markOf(key, id, owner)))))
      ? id
      : undefined
  }
}

function markOf(key: Uint8Array, id: string, userId: string | undefined): string {
  const ownKey = Buffer.from(hkdfSync('sha256', key, '', 'tasks of the upstream', 32))
  return createHmac('sha256', ownKey)
    .update(JSON.stringify([userId, id]))
    .digest('base64url')
    .slice(0, 22)
}

/** The upstream's own ids by those that the messages of a client name; undefined when one is not the caller's. */
export function ownTaskIds(body: unknown, caller: Caller, ids: TaskIds): Map<string, string> | undefined {
  const own = new Map<string, string>()
  for (const message of messagesIn(body)) {
    const { named, related } = taskIdsOf(message)
    for (const given of [...named, ...related]) {
      const id = ids.own(given, caller)
      if (id !== undefined) own.set(given, id)
      // A task may also be the client's own, which the upstream asked for.
      else if (named.includes(given)) return undefined
    }
  }
  return own
}

/** The text of a message with the upstream's own ids. What spells them otherwise names a task that the upstream does not have. */
export function withTaskIds(text: string, own: ReadonlyMap<string, string>): string {
  let changed = text
  for (const [given, id] of own) changed = changed.replaceAll(JSON.stringify(given), () => JSON.stringify(id))
  return changed
}

function taskIdsOf(message: JsonObject): { named: string[]; related: string[] } {
  const { method } = message
  const params = paramsOf(message) ?? {}
  const filter = isJsonObject(params['notifications']) ? params['notifications']['taskIds'] : undefined
  const named = typeof method === 'string' && method.startsWith('tasks/') ? [params['taskId']] : []
  const listened = Array.isArray(filter) ? (filter as unknown[]) : []
  const result = isJsonObject(message['result']) ? message['result'] : {}
  const related = [params, result].map((part) => relatedTaskOf(part)?.['taskId'])
  const texts = (values: readonly unknown[]): string[] => values.filter((value) => typeof value === 'string')
  return { named: texts([...named, ...listened]), related: texts(related) }
}

function relatedTaskOf(part: JsonObject): JsonObject | undefined {
  const related = metaOf(part)[relatedTask]
  return isJsonObject(related) ? related : undefined
}

/** A message of the upstream with the ids of tasks that this caller may use; the same message if it names none. */
export function withGivenTaskIds(message: JsonObject, caller: Caller, ids: TaskIds): JsonObject {
  const give = <Part extends JsonObject>(task: Part): Part =>
    typeof task['taskId'] === 'string' ? { ...task, taskId: ids.give(task['taskId'], caller) } : task
  const { method, result, params } = message
  if (isJsonObject(result)) {
    const { task, tasks } = result
    const given = {
      ...withRelated(give(result), give),
      ...(isJsonObject(task) && { task: give(task) }),
      ...(Array.isArray(tasks) && {
        tasks: tasks.map((each: unknown) => (isJsonObject(each) ? give(each) : each)),
      }),
    }
    return { ...message, result: given }
  }
  if (!isJsonObject(params)) return message
  const isAboutTask = typeof method === 'string' && method.startsWith('notifications/tasks')
  return { ...message, params: withRelated(isAboutTask ? give(params) : params, give) }
}

function withRelated(part: JsonObject, give: (task: JsonObject) => JsonObject): JsonObject {
  const related = relatedTaskOf(part)
  return related ? { ...part, _meta: { ...metaOf(part), [relatedTask]: give(related) } } : part
}
