import { offersTool } from '../access/access-rules.ts'
import type { Caller } from './caller.ts'

/**
 * A tool that strangers are shown beside the public ones where access rules hide the others: clients sign in when a call of theirs is
 * challenged, and they call nothing that is not listed. There is nothing to run.
 */
export const signInTool = {
  name: 'sign_in',
  title: 'Sign in',
  description:
    'Signs you in. More tools are there afterwards: call this when you need one that is not in the list, then list the tools again.',
  inputSchema: { type: 'object' as const, properties: {} },
  annotations: { readOnlyHint: true },
}

/** Says to a client that has signed in, and sends its call of {@link signInTool} again, what comes next. */
export const signedInText = 'You are signed in. List the tools again: more of them are there now.'

/**
 * Returns whether this caller has not signed in, and could see a hidden one of `tools` after that. With `mayBeMore` they are not all
 * of them.
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
