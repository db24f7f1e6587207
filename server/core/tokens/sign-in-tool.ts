import { offersTool } from '../access/access-rules.ts'
import type { Caller } from './caller.ts'

/**
 * A tool that is listed for anonymous callers where access rules hide tools from them: clients sign in when a call is challenged, and
 * call only listed tools. It never runs.
 */
export const signInTool = {
  name: 'sign_in',
  title: 'Sign in',
  description:
    'Signs you in. More tools are there afterwards: call this when you need one that is not in the list, then list the tools again.',
  inputSchema: { type: 'object' as const, properties: {} },
  annotations: { readOnlyHint: true },
}

/** The result of {@link signInTool} for a client that repeats its call after signing in. */
export const signedInText = 'You are signed in. List the tools again: more of them are there now.'

/**
 * Returns whether this anonymous caller could see a hidden one of `tools` after signing in. `mayBeMore`: `tools` is not complete.
 */
export function offersSignIn(
  caller: Caller,
  tools: readonly { name: string; scope: string | undefined }[],
  { publicTools, mayBeMore = false }: { publicTools: ReadonlySet<string>; mayBeMore?: boolean },
): boolean {
  const { user, access } = caller
  if (user || !caller.mayOffer || publicTools.has(signInTool.name)) return false
  const { mayOffer } = caller
  if (mayBeMore && mayOffer(undefined, undefined)) return true
  return tools.some(({ name, scope }) => !offersTool(access, name, scope) && mayOffer(name, scope))
}
