import { textResult } from './tool.ts'
import type { ToolDeclaration } from './tool-module.ts'

/** Shows the model which account it acts for. Works with every web app. */
export const whoamiTool: ToolDeclaration = {
  name: 'whoami',
  title: 'Who am I',
  description: 'Tells which account of the web app this connection acts as, and how it was authenticated.',
  annotations: { readOnlyHint: true, openWorldHint: false },
  call(_input, { user: { sub, email, name }, credential }) {
    const identity = { sub, ...(email && { email }), ...(name && { name }), credential }
    return textResult(`You are ${email ?? sub}.`, identity)
  },
}
