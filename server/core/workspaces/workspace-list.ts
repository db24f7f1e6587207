import { within } from '@drawbridge/shared/async.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { User, Workspace } from '../session/grant.ts'

/** The user whose workspaces are listed, and the client that they are listed for. */
export interface WorkspaceUser {
  user: User
  clientId: string
  scope: string
  /** The user's current access token at the session provider. */
  providerToken(): string
}

/** Reads the workspaces of a user from the web app, unchecked. May reject with anything. */
export type ReadWorkspaces = (of: WorkspaceUser) => Promise<unknown>

/** Lists the workspaces of a user as the app knows them now. Undefined while it does not, or not as described: the log says why. */
export type ListWorkspaces = (of: WorkspaceUser) => Promise<readonly Workspace[] | undefined>

const maxReadMs = 10_000
const maxWorkspaces = 1000
const maxNameLength = 200

/** Creates the checked list of `read`, which gets ten seconds. */
export function createWorkspaceList(
  read: ReadWorkspaces,
  report: (event: 'workspaces_failed', fields: { message: string }) => void,
): ListWorkspaces {
  return async (of) => {
    try {
      return workspacesIn(await within(maxReadMs, read(of)))
    } catch (error) {
      report('workspaces_failed', { message: error instanceof Error ? error.message : String(error) })
      return undefined
    }
  }
}

/**
 * Checks an array of `{ id, name }`. An id is 1 to 200 printable ASCII characters without blanks, since it becomes a header and a
 * variable; a whole number is taken as its digits. A name is shown only, shortened to 200 characters. Of two with one id the first
 * counts. Throws `TypeError` for anything else.
 *
 * @internal
 */
export function workspacesIn(given: unknown): Workspace[] {
  if (!Array.isArray(given)) {
    throw new TypeError(given === undefined ? 'no answer within ten seconds' : 'expected an array')
  }
  if (given.length > maxWorkspaces) throw new TypeError(`more than ${maxWorkspaces} workspaces`)
  const found = new Map<string, Workspace>()
  for (const [index, entry] of given.entries()) {
    const { id, name } = isJsonObject(entry) ? entry : {}
    const text = Number.isSafeInteger(id) ? String(id) : id
    if (typeof text !== 'string' || !/^[\x21-\x7E]{1,200}$/.test(text))
      throw new TypeError(`[${index}].id: expected 1 to 200 printable ASCII characters without blanks`)
    if (typeof name !== 'string') throw new TypeError(`[${index}].name: expected a string`)
    if (!found.has(text)) found.set(text, { id: text, name: name.trim().slice(0, maxNameLength) || text })
  }
  return [...found.values()]
}
