import { z } from 'zod/v4'
import { textResult } from './tool-result.ts'
import type { ToolDeclaration } from './tool-module.ts'

/** Shows the model which account it acts for. Works with every web app. */
export const whoamiTool: ToolDeclaration = {
  name: 'whoami',
  title: 'Who am I',
  description: 'Tells which account of the web app this connection acts as, and how it was authenticated.',
  outputSchema: z.strictObject({
    sub: z.string(),
    email: z.string().optional(),
    name: z.string().optional(),
    credential: z.enum(['access_token', 'provider_token', 'session_cookie']),
  }),
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
  call(_input, { user: { sub, email, name }, credential }) {
    const identity = { sub, ...(email && { email }), ...(name && { name }), credential }
    return textResult(`You are ${email ?? sub}.`, identity)
  },
}
