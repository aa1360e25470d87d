/* engine 4, frozen by test/compat/freeze.ts */
var ut=Object.defineProperty;var i=(n,e)=>ut(n,"name",{value:e,configurable:!0});var ve=(n,e)=>{for(var t in e)ut(n,t,{get:e[t],enumerable:!0})};var $t={};ve($t,{ATTEMPT_MOVES:()=>ht,CALL_KINDS:()=>Bo,CONSENT_MOVES:()=>wt,DEFAULT_QUEUE:()=>Sn,DEFAULT_QUEUES:()=>fi,DELIVERY_CAUSES:()=>qn,DELIVERY_MOVES:()=>_t,DELIVERY_OUTCOMES:()=>vn,ERROR_CODES:()=>Jo,FAULT_POINTS:()=>Yo,GhoulsError:()=>y,LONGEST_RESIDENT_DELAY_MS:()=>bn,MAX_DEPTH:()=>_e,MAX_FAILURE_MESSAGE:()=>Ce,MAX_FAILURE_STACK:()=>ct,MAX_VALUE_BYTES:()=>he,MOVES:()=>be,NonRetryableError:()=>B,NotDoneError:()=>Y,OPEN_DELIVERY:()=>Cn,PERMISSIONS:()=>gt,PUBLICATIONS_BEFORE_ATTENTION:()=>kn,PUBLICATION_DELAYS:()=>Ne,PUBLISHER_GRACE_SECONDS:()=>De,QUEUE_NAME:()=>In,QueueSettings:()=>ci,RUN_FAILURE_CODES:()=>En,RUN_MOVES:()=>yt,RandomStream:()=>pe,SKIP_REASONS:()=>yi,StepFailedError:()=>X,TimingSettings:()=>mi,UnserializableError:()=>N,callKey:()=>S,canMove:()=>kt,canonicalText:()=>gn,decideSkip:()=>An,delayAfterFailure:()=>li,delayAfterPublication:()=>ui,describeCall:()=>qe,describeFailure:()=>b,diagram:()=>gi,durationMs:()=>P,formatMessage:()=>ii,idempotencyKeyOf:()=>ge,identityCodec:()=>si,isDuration:()=>K,isRunId:()=>M,isTerminalRun:()=>Rn,mayDo:()=>di,noFaults:()=>fn,noHint:()=>ai,notDone:()=>Vo,parseJson:()=>ei,parseMessage:()=>Ae,queueUrlVariable:()=>pi,resolveBackoff:()=>xn,retryDelayMs:()=>we,serialize:()=>Z,sha256:()=>E,sourcesOf:()=>ee,sqlStates:()=>k,statesOf:()=>A,terminalStatesOf:()=>xe,wire:()=>Nn});import{createHash as lt}from"node:crypto";var Bo=["step"];function S(n){return JSON.stringify([n.epoch,n.scope,n.kind,n.name,n.nth])}i(S,"callKey");function qe(n){let e=n.nth===1?"":` (use ${n.nth})`,t=n.scope===""?"":` in ${n.scope}`;return`${n.kind} "${n.name}"${e}${t}`}i(qe,"describeCall");function ge(n,e){return lt("sha256").update(`ghouls-step-1
${n}
${S(e)}`).digest("hex")}i(ge,"idempotencyKeyOf");var pe=class{static{i(this,"RandomStream")}#e;#n=0;constructor(e,t,r){this.#e=`ghouls-random-1
${JSON.stringify([e,t,r])}`}#t(){return this.#n+=1,lt("sha256").update(`${this.#e}
${this.#n}`).digest()}random(){return Number(this.#t().readBigUInt64BE()>>11n)/2**53}uuid(){let e=this.#t().subarray(0,16);e[6]=e[6]&15|64,e[8]=e[8]&63|128;let t=e.toString("hex");return`${t.slice(0,8)}-${t.slice(8,12)}-${t.slice(12,16)}-${t.slice(16,20)}-${t.slice(20)}`}};import{createHash as Ko}from"node:crypto";function E(n){return Ko("sha256").update(n,"utf8").digest("hex")}i(E,"sha256");var Jo=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","wrong_transaction","configuration_invalid","schema_outdated","integrity_fault","ledger_unavailable","outcome_unknown","queue_unavailable","internal"],y=class extends Error{static{i(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(e,t,r={}){super(t,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=e,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}},B=class extends Error{static{i(this,"NonRetryableError")}constructor(e,t){super(e,t),this.name="NonRetryableError"}},Y=class extends Error{static{i(this,"NotDoneError")}constructor(e){super(e instanceof Error?e.message:String(e),{cause:e}),this.name="NotDoneError"}};function Vo(n){return new Y(n)}i(Vo,"notDone");var X=class extends Error{static{i(this,"StepFailedError")}step;tries;failure;constructor(e,t,r){super(`step "${e}" failed after ${t===1?"1 try":`${t} tries`}: ${r.message}`),this.name="StepFailedError",this.step=e,this.tries=t,this.failure=r}},Ce=2e3,ct=6e3;function b(n){try{if(n instanceof Error){let t=typeof n.stack=="string"?ye(n.stack,ct):void 0;return{name:ye(String(n.name),200),message:ye(String(n.message),Ce),...t===void 0?{}:{stack:t}}}if(typeof n=="string")return{name:"Error",message:ye(`a string was thrown: ${n}`,Ce)};if(n==null)return{name:"Error",message:`${String(n)} was thrown, not an Error`};let e=JSON.stringify(n,(t,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:ye(`a value that is no Error was thrown: ${e??typeof n}`,Ce)}}catch{return{name:"Error",message:`a value of type ${typeof n} that cannot be described was thrown`}}}i(b,"describeFailure");function ye(n,e){return n.length<=e?n.toWellFormed():`${n.slice(0,e).toWellFormed()}\u2026 (${n.length-e} more characters)`}i(ye,"bounded");var mn={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},Qo=3650*mn.d;function K(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);return e===null?!1:Number(e[1])*mn[e[2]]<=Qo}i(K,"isDuration");function P(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);if(e===null||!K(n))throw new y("configuration_invalid",`"${String(n).slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(e[1])*mn[e[2]]}i(P,"durationMs");var Yo=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","secrets.before-read","secrets.after-read","queue.before-publish","queue.after-publish","queue.before-receive","queue.after-receive","queue.before-visibility","queue.after-visibility","queue.before-delete","queue.after-delete","admission.after-commit","admission.after-publish","worker.after-claim","worker.before-beat","worker.before-intent","worker.after-intent","worker.before-step","worker.after-step","worker.after-journal","worker.before-handover","worker.after-handover","worker.before-settle","worker.after-settle","relay.after-select","relay.after-publish","reanimation.after-select","reanimation.after-judgement","containment.after-select","containment.after-look","holds.after-select","holds.after-expiry","hint.before-read","hint.after-read","hint.before-lower","hint.after-lower","hint.before-raise","hint.after-raise"],fn=i(()=>{},"noFaults");var _e=100,Xo=new Set(["__proto__","constructor","prototype"]),_n=JSON,Zo=JSON.parse;function ei(n){if(ni(n)>_e)throw new y("malformed_json",`the document is nested more than ${_e} levels deep`,{fix:"Flatten the document, or send it as one string."});let e;try{e=Zo(n,(r,o,s)=>typeof o=="number"?_n.rawJSON(s.source??String(o)):o)}catch(r){throw new y("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let t=[];if(pn(e,"",t),t.length>0)throw new y("invalid_request","the document holds values that cannot be kept unchanged",{issues:t,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(n),canonical:gn(e),member:i(r=>{if(!(typeof e!="object"||e===null||!Object.hasOwn(e,r)))return gn(e[r])},"member")}}i(ei,"parseJson");function ni(n){let e=0,t=0,r=!1;for(let o=0;o<n.length;o+=1){let s=n.charCodeAt(o);r?s===92?o+=1:s===34&&(r=!1):s===34?r=!0:s===91||s===123?t=Math.max(t,e+=1):(s===93||s===125)&&(e-=1)}return t}i(ni,"nestingOf");function pn(n,e,t){if(!(t.length>=20)){if(typeof n=="string"){let r=mt(n);r!==void 0&&t.push({path:e,message:r});return}if(!(typeof n!="object"||n===null)){if(_n.isRawJSON(n)){let r=Number(JSON.stringify(n));Math.abs(r)>Number.MAX_SAFE_INTEGER&&t.push({path:e,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(n)){n.forEach((r,o)=>pn(r,`${e}/${o}`,t));return}for(let[r,o]of Object.entries(n)){let s=`${e}/${r.slice(0,100).toWellFormed()}`;Xo.has(r)&&t.push({path:s,message:"this key is not allowed"});let a=mt(r);a!==void 0&&t.push({path:s,message:`the key: ${a}`}),pn(o,s,t)}}}}i(pn,"inspect");function mt(n){if(n.includes("\0"))return"text with a NUL character is not taken";if(!n.isWellFormed())return"text with a lone surrogate is not taken"}i(mt,"textProblem");function gn(n){return JSON.stringify(yn(n))}i(gn,"canonicalText");function yn(n){if(typeof n!="object"||n===null||_n.isRawJSON(n))return n;if(Array.isArray(n))return n.map(yn);let e=Object.entries(n).toSorted(([t],[r])=>t<r?-1:1);return Object.fromEntries(e.map(([t,r])=>[t,yn(r)]))}i(yn,"sorted");var N=class extends Error{static{i(this,"UnserializableError")}reason;constructor(e,t){super(t),this.name="UnserializableError",this.reason=e}},he=1048576;function Z(n,e=he){if(n===void 0)return;let t;try{t=JSON.stringify(Re(n,"",[]))}catch(o){throw o instanceof N?o:new N("unserializable",`it cannot be turned into JSON: ${b(o).message.slice(0,500)}`)}let r=Buffer.byteLength(t);if(r>e)throw new N("too_large",`it is ${r} bytes of JSON, the limit is ${e}`);return t}i(Z,"serialize");function Re(n,e,t){let r=e===""?"the value":`the value at ${e}`,o=i(d=>new N("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof n){case"string":case"boolean":return n;case"number":if(!Number.isFinite(n))throw o(String(n));return n;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof n}`);case"object":}if(n===null)return null;if(t.includes(n))throw o("a cycle");if(t.length>_e)throw o(`nested more than ${_e} levels deep`);let s=[...t,n];if(n instanceof Date&&Number.isNaN(n.getTime()))throw o("an invalid Date");if("toJSON"in n&&typeof n.toJSON=="function"){let d=n.toJSON("");if(d===n)throw o("a cycle of toJSON");return Re(d,e,s)}if(Array.isArray(n))return Array.from(n,(d,u)=>Re(d,`${e}/${u}`,s));if(!ti(n))throw o(`a ${n.constructor?.name??"class instance"}`);let a={};for(let[d,u]of Object.entries(n))u!==void 0&&Object.defineProperty(a,d,{value:Re(u,`${e}/${d.slice(0,100)}`,s),enumerable:!0,configurable:!0,writable:!0});return a}i(Re,"plain");function ti(n){let e=Object.getPrototypeOf(n);return e===null||e===Object.prototype?!0:Object.getPrototypeOf(e)===null&&n.constructor?.name==="Object"}i(ti,"isPlainObject");var ft="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",ri=new RegExp(`^${ft}$`),oi=new RegExp(`^run:(${ft}):([1-9]\\d{0,8})$`);function M(n){return ri.test(n)}i(M,"isRunId");function ii(n){return`run:${n.runId}:${n.enqueueSeq}`}i(ii,"formatMessage");function Ae(n){let e=oi.exec(n);if(e!==null)return{runId:e[1],enqueueSeq:Number(e[2])}}i(Ae,"parseMessage");var si={encode:i(n=>Promise.resolve(n),"encode"),decode:i(n=>Promise.resolve(n),"decode")},ai={keeps:!1,read:i(()=>Promise.resolve(void 0),"read"),lower:i(()=>Promise.resolve(),"lower"),raise:i(()=>Promise.resolve(!1),"raise")};var gt=["runs:admit","runs:release","runs:cancel","runs:resolve","runs:read","workflows:read"],pt={operator:gt,submitter:["runs:admit","runs:release","runs:cancel","runs:read","workflows:read"],decider:["runs:read","workflows:read"]};function di(n,e){return n.roles.some(t=>Object.hasOwn(pt,t)&&pt[t]?.includes(e))}i(di,"mayDo");var De=15,hn=[60,120,300,600,1800,3600],wn=[5,10,30,60,120,300],kn=5;function ui(n){return hn[Math.min(Math.max(n,1),hn.length)-1]}i(ui,"delayAfterPublication");function li(n){return wn[Math.min(Math.max(n,1),wn.length)-1]}i(li,"delayAfterFailure");var Ne={afterSuccess:hn,afterFailure:wn};var bn=1e4;function xn(n={}){let e={initialMs:P(n.initial??"200ms"),factor:n.factor??2,maxMs:P(n.max??"10s")};if(!(e.factor>=1&&e.factor<=100))throw new y("configuration_invalid",`a backoff factor of ${String(n.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});if(e.maxMs>bn||e.initialMs>bn)throw new y("configuration_invalid","a delay above 10 s between two tries is not supported yet",{fix:'Use delays up to "10s": a longer wait has to park the run, and this version has no parks.'});return e}i(xn,"resolveBackoff");function we(n,e,t){let r=Math.min(n.maxMs,n.initialMs*n.factor**(e-2));return Math.round(r/2+r/2*t)}i(we,"retryDelayMs");var En=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time","no_progress","ghoul_lost","effect_unknown","hold_expired"];import*as G from"zod";var $e=G.string().refine(n=>K(n),'write a whole number and a unit, such as "90s" or "15m"'),In=/^[a-z][a-z0-9-]{0,31}$/,ci=G.strictObject({batchSize:G.int().min(1).max(10).default(5),concurrency:G.int().min(1).max(1e3).default(2),functionTimeout:$e.refine(n=>!K(n)||P(n)>=5e3&&P(n)<=432e5,'from "5s" to "12h"').default("15m")}),mi=G.strictObject({lease:$e.default("120s"),beat:$e.default("30s"),actsMargin:$e.default("60s"),maxLosses:G.int().min(1).max(100).default(3)}),fi={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:2}},Sn="runs";function pi(n){return`GHOULS_QUEUE_${n.toUpperCase().replaceAll("-","_")}_URL`}i(pi,"queueUrlVariable");var ke=["QUEUED","FAILING","CANCELLING"],yt={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:ke,AWAITING_DELEGATE:ke,AWAITING_CHILD:ke,AWAITING_SIGNAL:ke,AWAITING_TIMER:ke,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},_t={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},Oe=["SUCCEEDED","FAILED","CANCELLED"],ht={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...Oe,"UNCERTAIN"],SUBMITTED:["RUNNING",...Oe,"UNCERTAIN"],RUNNING:[...Oe,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...Oe],SUCCEEDED:[],FAILED:[],CANCELLED:[]},wt={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},be={run:yt,delivery:_t,attempt:ht,consent:wt},vn=["done","failed","parked","continued","lost","given_back","refused"],qn=["admitted","resumed","continued","recovered","contain"];function A(n){return Object.keys(be[n])}i(A,"statesOf");function kt(n,e,t){return be[n][e]?.includes(t)??!1}i(kt,"canMove");function ee(n,e){return A(n).filter(t=>kt(n,t,e))}i(ee,"sourcesOf");function xe(n){return A(n).filter(e=>(be[n][e]??[]).length===0)}i(xe,"terminalStatesOf");var Cn=A("delivery").filter(n=>!xe("delivery").includes(n));function Rn(n){return xe("run").includes(n)}i(Rn,"isTerminalRun");function k(n){for(let e of n)if(!/^[A-Z_]+$/.test(e))throw new TypeError(`not a state: ${e}`);return n.map(e=>`'${e}'`).join(", ")}i(k,"sqlStates");function gi(n){let e=Object.entries(be[n]).flatMap(([t,r])=>r.length===0?[`    ${t} --> [*]`]:r.map(o=>`    ${t} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${A(n)[0]}`,...e].join(`
`)}i(gi,"diagram");var yi=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],_i=43e3,ne=i(n=>({reason:n,deleteMessage:!0,retryInSeconds:0}),"gone"),te=i((n,e)=>({reason:n,deleteMessage:!1,retryInSeconds:Math.min(_i,Math.max(1,Math.ceil(e)))}),"back");function An(n){return n===void 0?te("unknown",30):Rn(n.runStatus)?ne("terminal"):n.deliveryStatus==="SETTLED"?ne("settled"):n.deliveryStatus==="FENCED"?ne("fenced"):n.seq<n.currentSeq?ne("superseded"):n.deliveryStatus==="CLAIMED"?te("claimed",Math.max(5,n.leaseEndsInSeconds??30)):n.deliveryStatus==="HELD"?te("held",30):n.quarantined?ne("quarantined"):n.paused?ne("paused"):n.runStatus!=="QUEUED"&&n.cause!=="contain"?te("ending",30):n.dueInSeconds>0?te("early",n.dueInSeconds):te("contended",2)}i(An,"decideSkip");var Nn={};ve(Nn,{Admitted:()=>qt,BatchAdmitted:()=>xi,BatchItem:()=>vt,BatchOutcome:()=>Ct,BatchRequest:()=>bi,Cancelled:()=>Si,ContainmentItem:()=>At,IdempotencyKey:()=>It,MAX_BATCH:()=>xt,MAX_BODY_BYTES:()=>hi,MAX_PAGE:()=>wi,Problem:()=>Di,ReasonRequest:()=>Ii,Released:()=>Ei,Resolved:()=>vi,RunError:()=>Rt,RunPage:()=>Ci,RunRequest:()=>St,RunSummary:()=>Dn,RunView:()=>qi,Timeline:()=>Ri,TimelineEntry:()=>Dt,WORKFLOW_NAME:()=>Et,WorkflowList:()=>Ai,WorkflowRef:()=>Pe,WorkflowView:()=>Nt});import*as l from"zod";var hi=1048576,xt=100,wi=200,I=l.iso.datetime(),Et=/^[a-z0-9][a-z0-9._-]{0,99}$/i,ki=l.string().regex(Et,'letters, digits, ".", "_" and "-", at most 100'),It=l.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),St=l.strictObject({workflow:ki.optional(),version:l.int().min(1).max(1e6).optional(),input:l.unknown().optional(),queue:l.string().regex(In).optional(),priority:l.int().min(0).max(9).optional(),agent:l.string().min(1).max(200).optional(),held:l.boolean().optional(),holdFor:l.string().refine(K,'such as "10m"').optional()}),vt=St.extend({idempotencyKey:It.optional()}),bi=l.strictObject({runs:l.array(vt).min(1).max(xt)}),Pe=l.object({name:l.string(),version:l.int(),digest:l.string()}),qt=l.object({runId:l.string(),created:l.boolean(),status:l.enum(A("run")),enqueueSeq:l.int(),workflow:Pe,queue:l.string(),priority:l.int(),held:l.boolean()}),Ct=l.discriminatedUnion("outcome",[l.object({outcome:l.literal("admitted"),run:qt}),l.object({outcome:l.literal("conflict"),idempotencyKey:l.string(),detail:l.string()})]),xi=l.object({runs:l.array(Ct)}),Ei=l.object({runId:l.string(),enqueueSeq:l.int(),released:l.boolean()}),bt=l.object({reason:l.string(),at:I}),Dn=l.object({runId:l.string(),workflow:Pe,status:l.enum(A("run")),queue:l.string(),priority:l.int(),agent:l.string().nullable(),idempotencyKey:l.string().nullable(),requestedBy:l.string(),enqueueSeq:l.int(),steps:l.int(),errorCode:l.string().nullable(),attention:bt.nullable(),quarantine:bt.nullable(),pausedAt:I.nullable(),deadlineAt:I.nullable(),createdAt:I,startedAt:I.nullable(),finishedAt:I.nullable()}),Rt=l.object({code:l.enum(En),name:l.string(),message:l.string(),stack:l.string().optional(),step:l.string().optional()}),At=l.object({id:l.string(),kind:l.enum(["worker","effect"]),subject:l.string(),enqueueSeq:l.int(),overAt:I.nullable(),createdAt:I,acknowledgedAt:I.nullable(),acknowledgedBy:l.string().nullable(),acknowledgement:l.string().nullable()}),Ii=l.strictObject({reason:l.string().trim().min(1).max(1e3)}),Si=l.object({runId:l.string(),cancelled:l.boolean(),status:l.enum(A("run"))}),vi=l.object({runId:l.string(),item:l.string(),openItems:l.int(),status:l.enum(A("run"))}),qi=Dn.extend({input:l.unknown(),output:l.unknown(),error:Rt.nullable(),containment:l.array(At)}),Ci=l.object({runs:l.array(Dn),nextCursor:l.string().nullable()}),Dt=l.discriminatedUnion("kind",[l.object({kind:l.literal("admitted"),at:I}),l.object({kind:l.literal("delivery"),at:I,enqueueSeq:l.int(),cause:l.enum(qn),status:l.enum(A("delivery")),dueAt:I}),l.object({kind:l.literal("published"),at:I,enqueueSeq:l.int(),publications:l.int()}),l.object({kind:l.literal("claimed"),at:I,enqueueSeq:l.int(),worker:l.string()}),l.object({kind:l.literal("step"),at:I,enqueueSeq:l.int(),ordinal:l.int(),name:l.string(),nth:l.int(),outcome:l.enum(["ok","error"]),tries:l.int(),startedAt:I}),l.object({kind:l.literal("worker_ended"),at:I,enqueueSeq:l.int(),worker:l.string(),how:l.string()}),l.object({kind:l.literal("settled"),at:I,enqueueSeq:l.int(),outcome:l.enum(vn)}),l.object({kind:l.literal("fenced"),at:I,enqueueSeq:l.int()}),l.object({kind:l.literal("finished"),at:I,status:l.enum(A("run")),errorCode:l.string().nullable()})]),Ri=l.object({runId:l.string(),status:l.enum(A("run")),entries:l.array(Dt)}),Nt=Pe.extend({queue:l.string(),onWorkerLoss:l.enum(["resume","fail"]),inputSchema:l.unknown(),outputSchema:l.unknown()}),Ai=l.object({workflows:l.array(Nt)}),Di=l.object({type:l.string(),title:l.string(),status:l.int(),detail:l.string(),fix:l.string().optional(),requestId:l.string(),errors:l.array(l.object({path:l.string(),message:l.string()})).optional()});var no={};ve(no,{DEFAULT_APPLICATION_ROLE:()=>Hn,DEFAULT_SCHEMA:()=>re,DRIVERS:()=>Gt,LedgerError:()=>x,createRoles:()=>eo,executorOn:()=>Te,inCallersTransaction:()=>je,migrate:()=>Xr,migrationSql:()=>Yr,openLedger:()=>Kr,readRunsById:()=>Le,readRunsByKey:()=>ie,rolesSql:()=>Bn});var Ot=new Map,re="ghouls",Ni=/^[a-z_][a-z0-9_]{0,39}$/;function _(n,e){return Pt({name:n,text:Lt(n,e),writes:!1})}i(_,"readStatement");function g(n,e){return Pt({name:n,text:Lt(n,e),writes:!0})}i(g,"writeStatement");function Pt(n){if(Ot.has(n.name))throw new TypeError(`two statements are called ${n.name}`);return Ot.set(n.name,n),n}i(Pt,"listed");function Lt(n,e){return`/* ${n} */
${e.trim()}`}i(Lt,"tagged");function oe(n,e){if(!Ni.test(n))throw new TypeError(`${e} "${n.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}i(oe,"assertIdentifier");function J(n,e){return oe(e,"the schema name"),n.replace(/\bghouls\./g,`${e}.`)}i(J,"bindSchema");function p(n){let e=i((a,d)=>new TypeError(`column ${a} is ${typeof n[a]}, ${d} was expected`),"fail"),t=i(a=>{let d=n[a];if(typeof d!="string")throw e(a,"text");return d},"text"),r=i(a=>{let d=n[a],u=typeof d=="string"?Number(d):d;if(typeof u!="number"||!Number.isFinite(u))throw e(a,"a number");return u},"number"),o=i(a=>{let d=n[a];if(!(d instanceof Date))throw e(a,"a time");return d},"date"),s=i(a=>d=>n[d]===null?null:a(d),"orNull");return{text:t,textOrNull:s(t),number:r,numberOrNull:s(r),boolean:i(a=>{let d=n[a];if(typeof d!="boolean")throw e(a,"a boolean");return d},"boolean"),date:o,dateOrNull:s(o)}}i(p,"rows");var $i=g("runs.admit",`
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.* from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[], $20::text[]
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, on_worker_loss, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at, on_worker_loss)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    ghouls.clock() + q.deadline_ms * interval '1 millisecond', ghouls.clock(), q.on_worker_loss
  from request q
  on conflict do nothing
  returning tenant_id, run_id, enqueue_seq, queue, priority
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, hold_expires_at,
    next_publication_at, created_at)
  select run.tenant_id, run.run_id, run.enqueue_seq, 'admitted', case when q.held then 'HELD' else 'PENDING' end,
    run.queue, run.priority, ghouls.clock(),
    case when q.held then ghouls.clock() + q.hold_ms * interval '1 millisecond' end,
    case when not q.held then ghouls.clock() + $19::double precision * interval '1 second' end,
    ghouls.clock()
  from run join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  returning run_id
)
select run_id from delivery`),Mt=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished`,Oi=_("runs.by-key",`
select ${Mt}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),Pi=_("runs.by-id",`
select ${Mt}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function $n(n,e,t){let r=i(s=>e.map(s),"column"),o=await n.run($i,[String(t.lockTimeoutMs),r(s=>s.tenantId),r(s=>s.runId),r(s=>s.idempotencyKey),r(s=>s.requestDigest),r(s=>s.workflow.name),r(s=>s.workflow.version),r(s=>s.workflow.digest),r(s=>s.queue),r(s=>s.priority),r(s=>s.agent),r(s=>s.requestedBy),r(s=>JSON.stringify(s.requestedRoles)),r(s=>s.inputText),r(s=>s.inputDigest),r(s=>s.deadlineMs),r(s=>s.held),r(s=>s.holdMs),t.publisherGraceSeconds,r(s=>s.onWorkerLoss)]);return new Set(o.map(s=>s.run_id))}i($n,"insertRunsIfKeyIsNew");async function ie(n,e){return(await n.run(Oi,[e.map(r=>r.tenantId),e.map(r=>r.idempotencyKey)])).map(Tt)}i(ie,"readRunsByKey");async function Le(n,e){return(await n.run(Pi,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(Tt)}i(Le,"readRunsById");function Tt(n){let e=p(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),requestDigest:e.text("request_digest"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),held:e.boolean("held"),unpublished:e.boolean("unpublished")}}i(Tt,"admittedRun");var Li=g("deliveries.release",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)
update ghouls.deliveries d
set status = 'PENDING', due_at = ghouls.clock(),
  next_publication_at = ghouls.clock() + $3::double precision * interval '1 second'
from r
where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq
  and r.status = 'QUEUED' and d.status = 'HELD'
returning d.run_id`);async function jt(n,e,t){return(await n.run(Li,[e.tenantId,e.runId,t])).length===1}i(jt,"releaseDeliveryIfHeld");var Ti={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},ji={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL (or the secret) and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."};function zi(n,e){let t=(e instanceof y?e.fix:void 0)??ji[n];return t===void 0?{}:{fix:t}}i(zi,"fixOf");var x=class extends y{static{i(this,"LedgerError")}kind;sqlState;statement;constructor(e,t,r,o){super(Ti[e],`the ledger could not carry out ${t} (${e}${r?`, SQLSTATE ${r}`:""})`,{...zi(e,o),...e==="defect"||e==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=e,this.sqlState=r,this.statement=t}},zt=new Set(["42P05","26000"]),Fi=new Set(["40001","40P01",...zt]),Gi=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),Ui=new Set(["42P01","42703","42883","3F000"]);function H(n,e){let t=Me(n);return t===void 0?{kind:e?"unknown":"unavailable",sqlState:t}:Fi.has(t)?{kind:"retry",sqlState:t}:t==="55P03"?{kind:"busy",sqlState:t}:Gi.has(t)?{kind:"unavailable",sqlState:t}:t.startsWith("57P")||t.startsWith("08")?{kind:e?"unknown":"unavailable",sqlState:t}:Ui.has(t)?{kind:"schema",sqlState:t}:{kind:"defect",sqlState:t}}i(H,"classify");function Ft(n){return n!==void 0&&zt.has(n)}i(Ft,"isNameRefused");function Me(n){if(typeof n!="object"||n===null||!("code"in n))return;let{code:e}=n;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:void 0}i(Me,"sqlStateOf");var Hi=_("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),Wi=g("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function Te(n,e){return{run:i(async(t,r)=>{try{return(await n.query(J(t.text,e),[...r])).rows}catch(o){let{kind:s,sqlState:a}=H(o,!1);throw new x(s,t.name,a,o)}},"run")}}i(Te,"executorOn");async function je(n,e){let[t]=await n.run(Hi,[]),r=String(t?.isolation);if(r!=="read committed")throw new y("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(t?.begins_transaction===!0)throw new y("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await e();return await n.run(Wi,[String(t?.lock_timeout)]),o}i(je,"inCallersTransaction");var Gt=["pg","neon"];function ze(n){n.on("connect",e=>{e.on("error",()=>{})}),n.on("error",()=>{})}i(ze,"surviveLostConnections");import{createHash as Qi}from"node:crypto";import{parseIntoClientConfig as Vi}from"pg-connection-string";async function Ut(n){let e=await import("@neondatabase/serverless");class t extends e.Client{static{i(this,"Client")}constructor(o){super(o),n!==void 0&&(this.neonConfig.wsProxy=n,this.neonConfig.useSecureWebSocket=!1,this.neonConfig.pipelineTLS=!1,this.neonConfig.pipelineConnect=!1,this.neonConfig.coalesceWrites=!1)}}return r=>{let o=new e.Pool(r);return o.Client=t,ze(o),o}}i(Ut,"neonPool");import Bi from"pg";var Ht=i(n=>{let e=new Bi.Pool(n);return ze(e),e},"openPgPool");var Fe=class{static{i(this,"Patience")}#e;#n;#t=new AbortController;constructor(e,t){this.#e=t,this.#n=setTimeout(()=>this.#t.abort(),e)}get over(){return this.#t.signal.aborted}end(){clearTimeout(this.#n)}async pause(e){let t=Math.min(1e3,50*2**(e-1));await this.bound(new Promise(r=>setTimeout(r,t*(.5+this.#e()))))}async bound(e){if(this.over)return e;let{signal:t}=this.#t,r,o=new Promise(s=>{r=i(()=>s(void 0),"stop"),t.addEventListener("abort",r,{once:!0})});try{return await Promise.race([e,o])}finally{r!==void 0&&t.removeEventListener("abort",r)}}};var Ki=new Set(["ECONNREFUSED","ECONNRESET","ETIMEDOUT","EPIPE","EHOSTUNREACH","ENETUNREACH","EAI_AGAIN"]),Ji=/^Connection terminated|timeout expired|timeout exceeded when trying to connect/i;function Wt(n){let e=Me(n);return e!==void 0?e==="57P03"||e==="53300"||e.startsWith("08"):n instanceof Error?"code"in n&&typeof n.code=="string"?Ki.has(n.code):Ji.test(n.message):!0}i(Wt,"mayComeSoon");function Bt(n){let e=Me(n);return e==="28P01"||e==="28000"}i(Bt,"isRefused");var se=class{static{i(this,"Connections")}#e;#n;#t;#r;#o;#s=Promise.resolve();#i;constructor(e){this.#e=e,this.#n=e.maxConnections??2,this.#t=e.chance??(()=>.5)}patience(){return new Fe(this.#e.connectPatienceMs??1e4,this.#t)}async connect(e,t){let r=!1,o=new Error("no connection in time");for(let s=1;;s+=1){let a;try{a=await this.#c();let d=await this.#d(a,t);if(d!==void 0)return d}catch(d){if(o=d,a!==void 0&&Bt(d)&&!r&&(r=!0,await this.#p(a).catch(Kt(e)))||a!==void 0&&a.state!=="current"||(a===void 0||a.held<this.#n)&&Wt(d)&&!t.over&&(await t.pause(s),!t.over))continue}return Kt(e)(o)}}async#d(e,t){e.waiting+=1;let r=e.pool.connect().finally(()=>{e.waiting-=1,this.#f(e)}),o=await t.bound(r);if(o===void 0){r.then(s=>s.release(!1),()=>{});return}return e.held+=1,{keepsNames:e.keepsNames,query:i(s=>o.query(s),"query"),release:i(s=>{e.held-=1,o.release(s)},"release")}}async#c(){this.#r??=this.#a().then(t=>this.#m(t));let e=this.#r;try{return await e}catch(t){throw this.#r===e&&(this.#r=void 0),t}}async#a(){let{connectionString:e}=this.#e;return typeof e=="string"?e:e()}async#m(e){let{driver:t="pg",neonProxy:r,password:o}=this.#e,s=t==="neon"?await Ut(r):Ht,a=Vi(e),d=s({application_name:this.#e.applicationName??"ghouls",query_timeout:this.#e.answerTimeoutMs??2e4,...a,...o===void 0?{}:{password:o},max:this.#n,connectionTimeoutMillis:this.#e.connectTimeoutMs??5e3,idleTimeoutMillis:3e4,allowExitOnIdle:!0}),u=t==="pg"&&!/-pooler\b/.test(a.host??"");return{connectionString:e,pool:d,keepsNames:u,waiting:0,held:0,state:"current"}}async#p(e){return e.state!=="current"?!0:typeof this.#e.connectionString=="string"?!1:(this.#o??=this.#g(e).finally(()=>{this.#o=void 0}),this.#o)}async#g(e){let t=await this.#a();if(t===e.connectionString)return!1;let r=await this.#m(t);return e.state="replaced",this.#r=Promise.resolve(r),this.#f(e),!0}#f(e){e.state!=="replaced"||e.waiting>0||(e.state="ended",this.#s=Promise.all([this.#s,e.pool.end()]))}close(){return this.#i??=this.#y(),this.#i}async#y(){await(await this.#r?.catch(()=>{}))?.pool.end(),await this.#s}};function Kt(n){return e=>{throw e instanceof x?e:new x("unavailable",n,H(e,!1).sqlState,e)}}i(Kt,"unavailable");var Yi=4,Ge=class{static{i(this,"Database")}schema;#e;#n;#t;#r;#o=new Map;#s=!1;constructor(e){this.schema=e.schema??re,J("",this.schema),this.#n=e.preparedStatements,this.#t=e.faults??fn,this.#r=e.chance??(()=>.5),this.#e=new se(e)}async run(e,t){let r=this.#e.patience(),o=!1,s=i(a=>o&&a instanceof x&&a.kind!=="unknown"?new x("unknown",e.name,a.sqlState,a):a,"asTold");try{for(let a=1;;a+=1){let d=await this.#e.connect(e.name,r).catch(u=>{throw s(u)});try{return await this.#i(d,e,t)}catch(u){if(o||=u instanceof x&&u.kind==="unknown",!(u instanceof x)||!Xi(u)||a>=Zi(u))throw s(u);await es(25*4**(a-1)*(.5+this.#r()))}}}finally{r.end()}}async#i(e,t,r){let o=!0;try{let s=await this.#d(e,t,r);return o=!1,s}catch(s){throw o=!(s instanceof x)||s.sqlState===void 0,s}finally{e.release(o)}}async#d(e,t,r){try{await this.#t("ledger.before-statement",t.name);let{text:o,name:s}=this.#c(t),a=!this.#s&&(this.#n??e.keepsNames),d=await e.query({text:o,values:[...r],...a?{name:s}:{}});return await this.#t("ledger.after-statement",t.name),d.rows}catch(o){let{kind:s,sqlState:a}=H(o,t.writes);throw Ft(a)&&(this.#s=!0),new x(s,t.name,a,o)}}#c(e){let t=this.#o.get(e.name);if(t===void 0){let r=J(e.text,this.schema),o=Qi("sha256").update(r).digest("hex").slice(0,12);t={text:r,name:`${e.name}:${o}`},this.#o.set(e.name,t)}return t}async transaction(e,t){let r=this.#e.patience(),o=await this.#e.connect(e,r).finally(()=>r.end()),s=!0;try{await this.#a(o,e);let a=await t({run:i((d,u)=>this.#d(o,d,u),"run")});return await this.#m(o,e),s=!1,a}catch(a){throw s=a instanceof x&&a.sqlState===void 0||await o.query("rollback").then(()=>!1,()=>!0),a}finally{o.release(s)}}async#a(e,t){try{await e.query("begin isolation level read committed")}catch(r){let{kind:o,sqlState:s}=H(r,!1);throw new x(o,`${t}: begin`,s,r)}}async#m(e,t){let r;try{await this.#t("ledger.before-commit",t),r=(await e.query("commit")).command,await this.#t("ledger.after-commit",t)}catch(o){let{kind:s,sqlState:a}=H(o,!0);throw new x(s,`${t}: commit`,a,o)}if(r!=="COMMIT")throw new x("defect",`${t}: commit answered ${r}`,void 0,void 0)}async close(){await this.#e.close()}};function Xi(n){return n.kind!=="defect"&&n.kind!=="schema"&&n.kind!=="busy"}i(Xi,"isRepeatable");function Zi(n){return n.cause instanceof Error&&/read timeout/i.test(n.cause.message)||n.sqlState==="57014"?2:Yi}i(Zi,"triesOf");function es(n){return new Promise(e=>setTimeout(e,n))}i(es,"delay");var Jt={number:1,name:"runs",sql:`
create function ghouls.clock() returns timestamptz
  language sql stable parallel safe
  as 'select statement_timestamp()';
comment on function ghouls.clock() is 'The only time that the protocol knows. Tests replace it.';

create table ghouls.workflows (
  name text not null,
  version integer not null,
  digest text not null,
  build text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (name, version, digest)
);
comment on table ghouls.workflows is 'Which builds have which workflows. Belongs to the deployment, so it has no tenant.';

create table ghouls.runs (
  tenant_id text not null check (tenant_id <> ''),
  run_id uuid not null,
  first_run_id uuid not null,
  idempotency_key text,
  request_digest text not null,
  workflow_name text not null,
  workflow_version integer not null,
  workflow_digest text not null,
  queue text not null,
  priority smallint not null check (priority between 0 and 9),
  agent text,
  requested_by text not null,
  requested_roles text[] not null,
  status text not null check (status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER', 'COMPLETING', 'FAILING', 'CANCELLING',
    'DONE', 'FAILED', 'CANCELLED')),
  enqueue_seq integer not null check (enqueue_seq >= 1),
  journal_length integer not null default 0 check (journal_length >= 0),
  journal_bytes bigint not null default 0 check (journal_bytes >= 0),
  input_text text,
  input_digest text not null,
  output_text text,
  output_digest text,
  error_code text,
  error_text text,
  error_digest text,
  attention_reason text,
  attention_at timestamptz,
  quarantine_reason text,
  quarantined_at timestamptz,
  paused_at timestamptz,
  deadline_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, run_id),
  constraint runs_run_id_key unique (run_id),
  constraint runs_idempotency_key unique (tenant_id, idempotency_key),
  constraint runs_finished check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (finished_at is not null)),
  constraint runs_started check (status in ('QUEUED', 'FAILING', 'FAILED', 'CANCELLING', 'CANCELLED')
    or started_at is not null),
  constraint runs_failed check ((status in ('FAILING', 'FAILED')) = (error_code is not null)),
  constraint runs_error check (num_nulls(error_code, error_digest) <> 1 and (error_text is null or error_code is not null)),
  constraint runs_output check ((output_text is null or output_digest is not null)
    and (output_digest is null or status in ('COMPLETING', 'DONE'))),
  constraint runs_input check (input_text is not null or finished_at is not null),
  constraint runs_attention check (num_nulls(attention_reason, attention_at) <> 1),
  constraint runs_quarantine check (num_nulls(quarantine_reason, quarantined_at) <> 1)
);
create index runs_newest on ghouls.runs (tenant_id, created_at desc, run_id desc);
create index runs_by_status on ghouls.runs (tenant_id, status, created_at desc, run_id desc);
create index runs_by_workflow on ghouls.runs (tenant_id, workflow_name, created_at desc, run_id desc);
create index runs_with_attention on ghouls.runs (tenant_id, created_at desc, run_id desc)
  where attention_at is not null or quarantined_at is not null;

create table ghouls.deliveries (
  tenant_id text not null,
  run_id uuid not null,
  seq integer not null check (seq >= 1),
  cause text not null check (cause in ('admitted', 'resumed', 'continued', 'recovered', 'contain')),
  status text not null check (status in ('HELD', 'PENDING', 'CLAIMED', 'SETTLED', 'FENCED')),
  outcome text check (outcome in ('done', 'failed', 'parked', 'continued', 'lost', 'given_back',
    'refused')),
  queue text not null,
  priority smallint not null,
  checkpoint_generation integer,
  due_at timestamptz not null,
  hold_expires_at timestamptz,
  publications integer not null default 0,
  publication_failures integer not null default 0,
  publication_error text,
  published_at timestamptz,
  next_publication_at timestamptz,
  token uuid,
  claimed_by text,
  claimed_at timestamptz,
  lease_until timestamptz,
  acts_until timestamptz,
  worker_ended_at timestamptz,
  worker_end text,
  created_at timestamptz not null,
  settled_at timestamptz,
  fenced_at timestamptz,
  primary key (tenant_id, run_id, seq),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint deliveries_held check (status <> 'HELD' or hold_expires_at is not null),
  constraint deliveries_unclaimed check (status not in ('HELD', 'PENDING') or token is null),
  constraint deliveries_claimed check (num_nulls(token, claimed_by, claimed_at, lease_until) in (0, 4)
    and (status not in ('CLAIMED', 'SETTLED') or token is not null)),
  constraint deliveries_settled check ((status = 'SETTLED') = (settled_at is not null)
    and (settled_at is null) = (outcome is null)),
  constraint deliveries_fenced check ((status = 'FENCED') = (fenced_at is not null)),
  constraint deliveries_worker_end check (num_nulls(worker_ended_at, worker_end) <> 1)
);
create unique index deliveries_one_open on ghouls.deliveries (tenant_id, run_id)
  where status in ('HELD', 'PENDING', 'CLAIMED');
create index deliveries_publishable on ghouls.deliveries (priority, next_publication_at)
  where status = 'PENDING';
create index deliveries_by_worker on ghouls.deliveries (claimed_by) where status = 'CLAIMED';
create index deliveries_by_lease on ghouls.deliveries (lease_until) where status = 'CLAIMED';

create table ghouls.journal (
  tenant_id text not null,
  run_id uuid not null,
  ordinal integer not null check (ordinal >= 1),
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  outcome text not null check (outcome in ('ok', 'error')),
  result_text text,
  result_digest text,
  tries integer not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  primary key (tenant_id, run_id, ordinal),
  constraint journal_call unique (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint journal_result check (result_text is null or result_digest is not null)
);

create function ghouls.keep_terminal_run() returns trigger
  language plpgsql
  as $function$
declare
  allowed ghouls.runs%rowtype := new;
begin
  allowed.attention_reason := old.attention_reason;
  allowed.attention_at := old.attention_at;
  allowed.quarantine_reason := old.quarantine_reason;
  allowed.quarantined_at := old.quarantined_at;
  if new.input_text is null then allowed.input_text := old.input_text; end if;
  if new.output_text is null then allowed.output_text := old.output_text; end if;
  if new.error_text is null then allowed.error_text := old.error_text; end if;
  if allowed is distinct from old then
    raise exception 'a terminal run does not change' using errcode = 'GH001';
  end if;
  return new;
end
$function$;
create trigger keep_terminal_run before update on ghouls.runs
  for each row when (old.status in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.keep_terminal_run();
`};var Vt={number:2,name:"containment",sql:`
alter table ghouls.runs
  add column on_worker_loss text not null default 'fail' check (on_worker_loss in ('resume', 'fail')),
  add column losses integer not null default 0 check (losses >= 0),
  add column idle_yields integer not null default 0 check (idle_yields >= 0),
  add column generation integer not null default 0 check (generation >= 0),
  add column open_items integer not null default 0 check (open_items >= 0),
  add column cancel_reason text,
  add column cancelled_by text,
  add constraint runs_contained check (status not in ('DONE', 'FAILED', 'CANCELLED') or open_items = 0);

create index runs_endable on ghouls.runs (created_at)
  where status in ('COMPLETING', 'FAILING', 'CANCELLING') and open_items = 0;

create table ghouls.checkpoints (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  workflow_digest text not null,
  journal_length integer not null,
  journal_digest text not null,
  created_at timestamptz not null,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);

create table ghouls.containment_items (
  tenant_id text not null,
  run_id uuid not null,
  kind text not null check (kind in ('worker', 'effect')),
  key text not null,
  seq integer not null,
  token uuid not null,
  worker text not null,
  over_at timestamptz,
  created_at timestamptz not null,
  next_look_at timestamptz not null,
  tries integer not null default 0,
  last_error text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledgement text,
  primary key (tenant_id, run_id, kind, key),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint containment_items_acknowledged check (num_nulls(acknowledged_at, acknowledged_by) <> 1)
);
comment on column ghouls.containment_items.over_at is
  'When nothing of it can still act; null where only its worker, a supervisor or an operator can tell.';
create index containment_items_due on ghouls.containment_items (next_look_at) where acknowledged_at is null;
create index containment_items_by_worker on ghouls.containment_items (worker)
  where acknowledged_at is null and kind = 'worker';

create table ghouls.intents (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  number integer not null check (number >= 1),
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  outcome text check (outcome in ('happened', 'not_done', 'cannot_happen', 'failed', 'resolved')),
  outcome_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth, number),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint intents_outcome check (num_nulls(outcome, outcome_at) <> 1)
);
comment on table ghouls.intents is 'An effect that happens once: committed before its call. Without an outcome nobody knows.';
create unique index intents_one_open on ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth)
  where outcome is null;

create table ghouls.evidence (
  tenant_id text not null,
  run_id uuid not null,
  evidence_id uuid not null,
  class text not null check (class in ('rejected')),
  seq integer not null,
  token uuid not null,
  call text not null,
  outcome text not null,
  body_text text,
  body_digest text,
  recorded_at timestamptz not null,
  primary key (tenant_id, run_id, evidence_id)
);
comment on table ghouls.evidence is
  'What came from a worker that had been fenced. Written without the lock of its run, so it has no reference to it.';

create table ghouls.audit (
  tenant_id text not null,
  run_id uuid not null,
  audit_id uuid not null,
  actor text not null,
  act text not null,
  subject text not null,
  reason text not null,
  at timestamptz not null,
  primary key (tenant_id, run_id, audit_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id)
);
comment on table ghouls.audit is 'Operators acts, append only.';
`};var Qt={number:3,name:"doctor",sql:`
create view ghouls.doctor_open_deliveries as
select d.tenant_id, d.run_id, d.seq, d.status as delivery_status, d.cause, run.status as run_status
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and (d.seq <> run.enqueue_seq or not (
  (d.status in ('HELD', 'PENDING') and run.status = 'QUEUED')
  or (d.status = 'CLAIMED' and run.status in ('RUNNING', 'AWAITING_HARDWARE'))
  or (d.cause = 'contain' and run.status in ('COMPLETING', 'FAILING', 'CANCELLING'))));

create view ghouls.doctor_working_runs as
select run.tenant_id, run.run_id, run.status, run.enqueue_seq
from ghouls.runs run
where run.status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq and d.status in ('HELD', 'PENDING', 'CLAIMED'));

create view ghouls.doctor_terminal_runs as
select run.tenant_id, run.run_id, run.status, d.seq, null::text as item, null::text as effect
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, i.kind || ' ' || i.key, null
from ghouls.containment_items i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.acknowledged_at is null and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, null, i.name
from ghouls.intents i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.outcome is null and run.status in ('DONE', 'FAILED', 'CANCELLED');

create view ghouls.doctor_pending_deliveries as
select d.tenant_id, d.run_id, d.seq, d.due_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'PENDING' and d.next_publication_at is null and run.paused_at is null and run.quarantined_at is null;

create view ghouls.doctor_journals as
select run.tenant_id, run.run_id, run.status, run.journal_length, count(j.ordinal) as entries
from ghouls.runs run
left join ghouls.journal j on j.tenant_id = run.tenant_id and j.run_id = run.run_id
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(j.ordinal) <> run.journal_length;

create view ghouls.doctor_open_items as
select run.tenant_id, run.run_id, run.status, run.open_items, count(i.key) as items
from ghouls.runs run
left join ghouls.containment_items i
  on i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(i.key) <> run.open_items;

create view ghouls.doctor_endings as
select run.tenant_id, run.run_id, run.status, run.open_items
from ghouls.runs run
where run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and run.open_items = 0
  and (run.quarantined_at is null or run.status = 'CANCELLING') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED');

create view ghouls.doctor_lost_claims as
select d.tenant_id, d.run_id, d.seq, d.claimed_by, d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end
from ghouls.deliveries d
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() - interval '5 minutes';

create view ghouls.doctor_quarantined_runs as
select run.tenant_id, run.run_id, run.status, run.quarantine_reason, run.quarantined_at
from ghouls.runs run
where run.quarantined_at is not null;

create view ghouls.doctor_runs_with_attention as
select run.tenant_id, run.run_id, run.status, run.attention_reason, run.attention_at
from ghouls.runs run
where run.attention_at is not null and run.status not in ('DONE', 'FAILED', 'CANCELLED');
`};var Yt={number:4,name:"holds",sql:`
create index deliveries_by_hold on ghouls.deliveries (hold_expires_at) where status = 'HELD';
`};var ae=[Jt,Vt,Qt,Yt];var ns=[T("integrity","open deliveries agree with their run","doctor_open_deliveries"),T("integrity","working runs have an open delivery","doctor_working_runs"),T("integrity","terminal runs have nothing open","doctor_terminal_runs"),T("integrity","pending deliveries have a next publication","doctor_pending_deliveries"),T("integrity","journals are as long as their runs say","doctor_journals"),T("integrity","runs know how many items are open","doctor_open_items"),T("integrity","ending runs have something left to contain","doctor_endings"),T("attention","no lost claim waits for its judgement","doctor_lost_claims"),T("attention","no run is quarantined","doctor_quarantined_runs"),T("attention","no open run asks for a person","doctor_runs_with_attention")];function T(n,e,t){return{kind:n,check:e,statement:_(t.replace("_",".").replaceAll("_","-"),`select * from ghouls.${t}
limit 100`)}}i(T,"view");var ts=_("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function On(n){let[e]=await n.run(ts,[]);return{applied:Number(e?.version??0),known:ae.at(-1)?.number??0}}i(On,"readSchemaVersion");async function Xt(n){let e=await On(n),t=[{check:"the schema is up to date",kind:"integrity",ok:e.applied===e.known,rows:e.applied===e.known?[]:[e]}];for(let{check:r,kind:o,statement:s}of ns){let a=await n.run(s,[]);t.push({check:r,kind:o,ok:a.length===0,rows:a})}return t}i(Xt,"examine");var W="json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";var rs=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function $(n){return`${rs}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${k(n)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}i($,"heldBy");var L=["RUNNING","AWAITING_HARDWARE"];function Ee(n,e){return Zt(n,ee("run",e))}i(Ee,"runMayBecome");function Ue(n,e){return Zt(n,ee("delivery",e))}i(Ue,"deliveryMayBecome");function Zt(n,e){return e.length===0?"false":`${n} in (${k(e)})`}i(Zt,"oneOf");var q=["COMPLETING","FAILING","CANCELLING"];var os=_("runs.lock",`
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`);async function O(n,e){let t=await n.run(os,[e.map(r=>r.tenantId),e.map(r=>r.runId)]);return new Map(t.map(r=>[p(r).text("run_id"),p(r).text("status")]))}i(O,"lockRuns");var is=g("runs.end-if-contained",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${k(q)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null)
  for update
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${k(Cn.filter(n=>n!=="CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0
returning run.status`);async function j(n,e){let[t]=await n.run(is,[e.tenantId,e.runId]);return t===void 0?null:p(t).text("status")}i(j,"endRunIfContained");var ss=g("deliveries.yield",`
with ${$(L)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1,
    idle_yields = case when $8::boolean then run.idle_yields + 1 else 0 end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $9::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),as=g("deliveries.give-back",`
with ${$(L)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.checkpoint_generation
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, settled.checkpoint_generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  moved.checkpoint_generation, greatest(ghouls.clock(), $5::timestamptz), greatest(ghouls.clock(), $5::timestamptz),
  ghouls.clock()
from moved
returning seq, queue`),ds=g("deliveries.due-now",`
with waiting as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  join ghouls.deliveries before on before.tenant_id = d.tenant_id and before.run_id = d.run_id and before.seq = d.seq - 1
  where d.tenant_id = $1 and d.run_id = $2 and d.status = 'PENDING' and before.outcome = 'given_back'
    and d.due_at > ghouls.clock()
  for update of d
)
update ghouls.deliveries d
set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
from waiting
where d.tenant_id = waiting.tenant_id and d.run_id = waiting.run_id and d.seq = waiting.seq
returning d.seq`),us=_("deliveries.handed-over",`
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`),ls=_("checkpoints.read",`
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`);async function er(n,e,t,r){let{workflowDigest:o,journalLength:s,journalDigest:a}=t,[d]=await n.run(ss,[...Ln(e),o,s,a,r.idle,r.publisherGraceSeconds]);return d===void 0?rr(n,e,"continued"):Pn(d)}i(er,"yieldDeliveryIfClaimed");async function nr(n,e,t){let[r]=await n.run(as,[...Ln(e),t]);return r===void 0?rr(n,e,"given_back"):Pn(r)}i(nr,"giveDeliveryBackIfClaimed");async function tr(n,e,t){let[r]=await n.run(ls,[e.tenantId,e.runId,t]);if(r===void 0)return null;let o=p(r);return{workflowDigest:o.text("workflow_digest"),journalLength:o.number("journal_length"),journalDigest:o.text("journal_digest")}}i(tr,"readCheckpoint");async function rr(n,e,t){let[r]=await n.run(us,[...Ln(e),t]);return r===void 0?null:Pn(r)}i(rr,"handedOver");function Pn(n){return{enqueueSeq:p(n).number("seq"),queue:p(n).text("queue")}}i(Pn,"nextOf");function Ln(n){return[n.tenantId,n.runId,n.seq,n.token]}i(Ln,"keyOf");async function He(n,e){await n.run(ds,[e.tenantId,e.runId])}i(He,"makeGivenBackDue");var ms=g("items.acknowledge",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $5, acknowledgement = $6
  from item
  where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
  returning i.tenant_id, i.run_id, i.kind, i.key
), known as (
  update ghouls.intents i
  set outcome = 'resolved', outcome_at = ghouls.clock()
  from acknowledged a
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${W} = a.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
returning run.open_items`),fs=g("audit.record",`
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),ps=_("deliveries.holds",`
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`),gs=g("deliveries.over-now",`
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`);async function Mn(n,e,t,r){return n.transaction("items.acknowledge",async o=>{await O(o,[e]);let{kind:s,key:a,by:d,words:u,token:c,under:m}=t;if(m!==void 0&&(await o.run(ps,[m.tenantId,m.runId,m.seq,m.token])).length===0)return null;let[f]=await o.run(ms,[e.tenantId,e.runId,s,a,d,u,c??null]);if(f===void 0)return null;if(s==="worker"&&await He(o,e),r!==void 0){let h=`${s} ${a}`;await o.run(fs,[e.tenantId,e.runId,r.actor,"resolve",h,r.reason])}return{openItems:p(f).number("open_items"),ended:await j(o,e)}})}i(Mn,"acknowledgeItem");async function or(n,e){let t=await Mn(n,e,{kind:"worker",key:String(e.seq),by:"worker",words:"its worker ended the hop: no step is in flight",token:e.token});return t!==null?t:(await n.run(gs,[e.tenantId,e.runId,e.seq,e.token]),null)}i(or,"acknowledgeWorker");var _s=g("deliveries.beat",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[]) as q(tenant_id, run_id, seq, token)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq and d.token = q.token
  where d.status = 'CLAIMED'
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $5::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id, d.seq`);async function ir(n,e,t){let r=await n.run(_s,[e.map(o=>o.tenantId),e.map(o=>o.runId),e.map(o=>o.seq),e.map(o=>o.token),t]);return new Set(r.map(o=>`${p(o).text("run_id")}:${p(o).number("seq")}`))}i(ir,"beatIfClaimed");var ws=g("runs.cancel",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${k(ee("run","CANCELLING"))})
  for update
), open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $5::double precision * interval '1 second') end as over_at
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id
  where d.status in ('HELD', 'PENDING', 'CLAIMED')
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from open
  where d.tenant_id = open.tenant_id and d.run_id = open.run_id and d.seq = open.seq
  returning d.run_id
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select open.tenant_id, open.run_id, 'worker', open.seq::text, open.seq, open.token, open.claimed_by, open.over_at,
    ghouls.clock(), coalesce(open.over_at, ghouls.clock())
  from open
  where open.status = 'CLAIMED'
  returning run_id
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${W}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)
update ghouls.runs run
set status = 'CANCELLING', cancelled_by = $3, cancel_reason = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function sr(n,e,t,r){return n.transaction("runs.cancel",async o=>{let s=(await O(o,[e])).get(e.runId);if(s===void 0)return null;let[a]=await o.run(ws,[e.tenantId,e.runId,t.actor,t.reason,r]);return a===void 0?{cancelled:!1,status:s}:{cancelled:!0,status:await j(o,e)??p(a).text("status")}})}i(sr,"cancelRun");var bs=g("evidence.reject",`
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6, $7, $8, ghouls.clock()
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`);async function ar(n,e,t){let{call:r,outcome:o,bodyText:s,bodyDigest:a}=t;await n.run(bs,[e.tenantId,e.runId,e.seq,e.token,r,o,s,a])}i(ar,"recordRejectedResult");var Es=_("deliveries.expired-holds",`
select d.tenant_id, d.run_id, d.hold_expires_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'HELD' and d.hold_expires_at <= ghouls.clock() and run.status = 'QUEUED' and run.quarantined_at is null
order by d.hold_expires_at
limit $1`),Is=g("deliveries.expire-holds",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q(tenant_id, run_id, error_text, error_digest)
), expired as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.error_text, wanted.error_digest
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
  where ${Ee("run.status","FAILING")} and run.quarantined_at is null
    and d.status = 'HELD' and ${Ue("d.status","FENCED")} and d.hold_expires_at <= ghouls.clock()
  order by d.run_id
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from expired
  where d.tenant_id = expired.tenant_id and d.run_id = expired.run_id and d.seq = expired.seq
  returning d.tenant_id, d.run_id
)
update ghouls.runs run
set status = 'FAILING', error_code = 'hold_expired', error_text = expired.error_text, error_digest = expired.error_digest
from fenced
join expired on expired.tenant_id = fenced.tenant_id and expired.run_id = fenced.run_id
where run.tenant_id = fenced.tenant_id and run.run_id = fenced.run_id
returning run.tenant_id, run.run_id, run.status`);async function dr(n,e){return(await n.run(Es,[e])).map(r=>({...lr(r),expiredAt:p(r).date("hold_expires_at")}))}i(dr,"readExpiredHolds");async function ur(n,e){return e.length===0?[]:n.transaction("deliveries.expire-holds",async t=>{await O(t,e);let r=await t.run(Is,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.errorText),e.map(s=>s.errorDigest)]),o=[];for(let s of r){let a=lr(s),d=p(s).text("status");o.push({...a,status:await j(t,a)??d})}return o})}i(ur,"expireHolds");function lr(n){return{tenantId:p(n).text("tenant_id"),runId:p(n).text("run_id")}}i(lr,"keyOf");var vs=g("intents.open",`
with ${$(L)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`),qs=_("intents.of-call",`
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`),Cs=g("intents.close",`
with ${$(L)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`),Rs=_("intents.open-of-run",`
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`),As=_("intents.last-numbers",`
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`);function Tn(n){return[n.epoch,n.scope,n.kind,n.name,n.nth]}i(Tn,"callOf");async function cr(n,e,t,r){return(await n.run(vs,[e.tenantId,e.runId,e.seq,e.token,...Tn(t),r])).length===1?!0:(await n.run(qs,[e.tenantId,e.runId,...Tn(t),r,e.token])).length===1}i(cr,"openIntentIfClaimed");async function mr(n,e,t,r,o){let s=[e.tenantId,e.runId,e.seq,e.token];return(await n.run(Cs,[...s,...Tn(t),r,o])).length===1}i(mr,"closeIntentIfClaimed");async function fr(n,e){return(await n.run(Rs,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),seq:o.number("seq"),token:o.text("token"),over:r.over===!0,overAt:o.dateOrNull("over_at")}})}i(fr,"readOpenIntents");async function pr(n,e){return(await n.run(As,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),tries:o.number("tries")}})}i(pr,"readLastIntents");var Ns=_("items.of-run",`
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`),$s=_("items.due",`
select i.tenant_id, i.run_id, min(i.next_look_at) as due_at
from (
  (select i.tenant_id, i.run_id, i.next_look_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and i.next_look_at <= ghouls.clock()
  order by i.next_look_at
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where run.status in (${k(q)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
  order by run.created_at
  limit $1)
) as i
group by i.tenant_id, i.run_id
order by min(i.next_look_at)`),Os=g("items.acknowledge-over",`
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'worker' and i.acknowledged_at is null and i.over_at <= ghouls.clock()
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = 'time',
    acknowledgement = 'nothing of its claim can act any more'
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`),Ps=g("items.look-later",`
with due as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null and i.next_look_at <= ghouls.clock()
  order by i.kind, i.key
  for update
)
update ghouls.containment_items i
set tries = i.tries + 1,
  next_look_at = greatest(coalesce(i.over_at, ghouls.clock()),
    ghouls.clock() + least(600, 5 * power(2, least(i.tries, 8))) * interval '1 second')
from due
where i.tenant_id = due.tenant_id and i.run_id = due.run_id and i.kind = due.kind and i.key = due.key
returning case
  when i.kind = 'worker' then i.over_at is null and i.tries >= 3
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.cause = 'contain') >= $3
  end as needs_word`),Ls=g("deliveries.contain",`
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${k(q)})
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'effect' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'worker' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.cause = 'contain') < $3
  for update
), numbered as (
  update ghouls.runs run
  set enqueue_seq = r.enqueue_seq + 1
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select n.tenant_id, n.run_id, n.enqueue_seq, 'contain', 'PENDING', n.queue, n.priority, later.due_at, later.due_at, ghouls.clock()
from numbered n
cross join lateral (
  select ghouls.clock() + case when count(*) = 0 then interval '0' else 30 * power(4, count(*) - 1) * interval '1 second' end as due_at
  from ghouls.deliveries d
  where d.tenant_id = n.tenant_id and d.run_id = n.run_id and d.cause = 'contain'
) as later
returning seq`);async function gr(n,e){return(await n.run(Ns,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{kind:o.text("kind"),key:o.text("key"),seq:o.number("seq"),worker:o.text("worker"),overAt:o.dateOrNull("over_at"),createdAt:o.date("created_at"),tries:o.number("tries"),lastError:o.textOrNull("last_error"),acknowledgedAt:o.dateOrNull("acknowledged_at"),acknowledgedBy:o.textOrNull("acknowledged_by"),acknowledgement:o.textOrNull("acknowledgement")}})}i(gr,"readItems");async function yr(n,e){return(await n.run($s,[e])).map(r=>({tenantId:p(r).text("tenant_id"),runId:p(r).text("run_id")}))}i(yr,"readDueItems");async function jn(n,e,t){let r=[e.tenantId,e.runId];return n.transaction("items.contain",async o=>{await O(o,[e]),(await o.run(Os,r)).length>0&&await He(o,e);let s=await j(o,e);if(s!==null)return{ended:s,contain:!1,needsWord:!1};let a=await o.run(Ls,[...r,t]),d=await o.run(Ps,[...r,t]);return{ended:s,contain:a.length===1,needsWord:a.length===0&&d.some(u=>u.needs_word===!0)}})}i(jn,"containRun");var Ts=_("deliveries.lapsed",`
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() and ($2::uuid[] is null or d.run_id = any($2::uuid[]))
order by d.lease_until
limit $1`),js=g("deliveries.settle-lost",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${k(q)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${k(q)})
      or (run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer))
  order by d.run_id
  for update of d
), settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'lost', settled_at = ghouls.clock()
  from lost
  where t.tenant_id = lost.tenant_id and t.run_id = lost.run_id and t.seq = lost.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at, t.queue, t.priority
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select lost.tenant_id, lost.run_id, 'worker', lost.seq::text, lost.seq, lost.token, lost.claimed_by, lost.over_at,
    settled.settled_at, coalesce(lost.over_at, settled.settled_at)
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  returning tenant_id, run_id
), unknown as materialized (
  select i.tenant_id, i.run_id, ${W} as key, i.seq, i.token, lost.claimed_by
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  join ghouls.intents i on i.tenant_id = lost.tenant_id and i.run_id = lost.run_id
  where i.outcome is null and lost.next_status = 'FAILING' and lost.run_status <> 'FAILING'
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select u.tenant_id, u.run_id, 'effect', u.key, u.seq, u.token, u.claimed_by, ghouls.clock(), ghouls.clock()
  from unknown u
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning tenant_id, run_id
), moved as (
  update ghouls.runs run
  set status = lost.next_status,
    losses = run.losses + case when lost.next_status = lost.run_status then 0 else 1 end,
    enqueue_seq = run.enqueue_seq + case when lost.next_status = 'QUEUED' then 1 else 0 end,
    open_items = run.open_items + 1 + (
      select count(*) from effect_item e where e.tenant_id = run.tenant_id and e.run_id = run.run_id)::integer,
    error_code = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then 'ghoul_lost' else run.error_code end,
    error_text = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_text else run.error_text end,
    error_digest = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_digest else run.error_digest end
  from lost
  join worker_item w on w.tenant_id = lost.tenant_id and w.run_id = lost.run_id
  where run.tenant_id = lost.tenant_id and run.run_id = lost.run_id
  returning run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, lost.checkpoint_generation
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'recovered', 'PENDING', moved.queue, moved.priority,
    moved.checkpoint_generation, ghouls.clock(), ghouls.clock() + $9::double precision * interval '1 second', ghouls.clock()
  from moved
  where moved.status = 'QUEUED'
  returning run_id
)
select moved.tenant_id, moved.run_id, moved.status, moved.enqueue_seq, moved.queue
from moved
left join next on next.run_id = moved.run_id`);async function _r(n,e,t=null){return(await n.run(Ts,[e,t])).map(o=>{let s=p(o);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),seq:s.number("seq"),token:s.text("token"),worker:s.text("claimed_by"),runStatus:s.text("status"),onWorkerLoss:s.text("on_worker_loss"),losses:s.number("losses")}})}i(_r,"readLapsedClaims");async function hr(n,e,t){return e.length===0?[]:n.transaction("deliveries.settle-lost",async r=>(await O(r,e),(await r.run(js,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.seq),e.map(s=>s.token),e.map(s=>s.errorText),e.map(s=>s.errorDigest),t.maxLosses,t.actsMarginSeconds,t.publisherGraceSeconds])).map(s=>{let a=p(s);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),status:a.text("status"),enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}})))}i(hr,"settleLostClaims");var kr="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation",zn=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at,
  run.deadline_at, run.idle_yields, run.open_items`,Fs=g("deliveries.claim",`
with wanted as materialized (
  select q.run_id, q.seq, q.token from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
), r as materialized (
  select run.tenant_id, run.run_id, run.status, run.paused_at, run.quarantined_at
  from ghouls.runs run
  where run.run_id = any($1::uuid[])
  order by run.run_id
  for update
), d as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.token
  from r
  join wanted on wanted.run_id = r.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = wanted.seq
  where (select count(*) from r) >= 0 
    and ((d.cause <> 'contain' and r.status = 'QUEUED' and r.paused_at is null and r.quarantined_at is null)
      or (d.cause = 'contain' and r.status in (${k(q)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${Ue("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
  order by d.run_id, d.seq
  for update of d
), claimed as (
  update ghouls.deliveries t
  set status = 'CLAIMED', token = d.token, claimed_by = $4, claimed_at = ghouls.clock(),
    lease_until = ghouls.clock() + $5::double precision * interval '1 second',
    acts_until = ghouls.clock() + $6::double precision * interval '1 second'
  from d
  where t.tenant_id = d.tenant_id and t.run_id = d.run_id and t.seq = d.seq
  returning t.tenant_id, t.run_id, t.seq, t.token, t.cause, t.claimed_at, t.acts_until, t.checkpoint_generation
), running as (
  update ghouls.runs run
  set status = case when claimed.cause = 'contain' then run.status else 'RUNNING' end,
    started_at = coalesce(run.started_at, claimed.claimed_at)
  from claimed
  where run.tenant_id = claimed.tenant_id and run.run_id = claimed.run_id
  returning run.tenant_id, run.run_id, ${zn}
)
select ${kr}, ${zn}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),Gs=_("deliveries.claimed-by-token",`
select ${kr}, ${zn}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),Us=_("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  run.paused_at is not null as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function br(n,e,t){let r=Er(e),o=e.map(d=>d.token),s=await n.run(Fs,[...r,o,t.worker,t.leaseSeconds,t.actsForSeconds]);return s.length===e.length?s.map(wr):(await n.run(Gs,[...r,o])).map(wr)}i(br,"claimDeliveriesIfDue");async function xr(n,e){let t=await n.run(Us,Er(e));return new Map(t.map(r=>{let o=p(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}i(xr,"readUnclaimed");function Er(n){return[n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}i(Er,"arrays");function wr(n){let e=p(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),seq:e.number("seq"),token:e.text("token"),cause:e.text("cause"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},firstRunId:e.text("first_run_id"),queue:e.text("queue"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),inputText:e.text("input_text"),inputDigest:e.text("input_digest"),journalLength:e.number("journal_length"),journalBytes:e.number("journal_bytes"),admittedAt:e.date("created_at"),deadlineAt:e.dateOrNull("deadline_at"),checkpointGeneration:e.numberOrNull("checkpoint_generation"),idleYields:e.number("idle_yields"),claimedAt:e.date("claimed_at"),actsUntil:e.dateOrNull("acts_until")}}i(wr,"claimedRun");var Hs=g("deliveries.record-worker-end",`
with lost as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set worker_ended_at = ghouls.clock(), worker_end = $2, lease_until = least(d.lease_until, ghouls.clock())
from lost
where d.tenant_id = lost.tenant_id and d.run_id = lost.run_id and d.seq = lost.seq
returning d.run_id`),Ws=g("items.record-worker-end",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.worker = $1 and i.kind = 'worker' and i.acknowledged_at is null
  order by i.tenant_id, i.run_id, i.kind, i.key
  for update
)
update ghouls.containment_items i
set over_at = least(i.over_at, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(i.next_look_at, ghouls.clock() + $2::double precision * interval '1 second')
from item
where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
returning i.run_id`);async function Ir(n,e){let t=await n.run(Hs,[e.worker,e.how]);return await n.run(Ws,[e.worker,e.actsMarginSeconds??Bs]),t.length}i(Ir,"recordWorkerEnd");var Bs=60;var Js=g("journal.append",`
with ${$(L)}, entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text,
    result_digest, tries, seq, token, started_at, completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, held.seq, held.token,
    date_trunc('milliseconds', ghouls.clock()) - $14::double precision * interval '1 millisecond',
    date_trunc('milliseconds', ghouls.clock())
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), effect as (
  update ghouls.intents i
  set outcome = case when $10 = 'ok' then 'happened' else 'failed' end, outcome_at = entry.completed_at
  from entry
  where $16::boolean and i.tenant_id = entry.tenant_id and i.run_id = entry.run_id and i.epoch = $5 and i.scope = $6
    and i.kind = $7 and i.name = $8 and i.nth = $9 and i.outcome is null
  returning i.run_id
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $15::bigint, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id
  and (select count(*) from effect) >= 0`),Vs=_("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_digest
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),Qs=_("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2
order by j.ordinal`);async function vr(n,e,t){let r=[t.epoch,t.scope,t.kind,t.name,t.nth],[o]=await n.run(Js,[e.tenantId,e.runId,e.seq,e.token,...r,t.outcome,t.resultText,t.resultDigest,t.tries,t.tookMs,t.resultBytes,t.closesIntent??!1]);if(o!==void 0)return Sr(o);let[s]=await n.run(Vs,[e.tenantId,e.runId,...r]);return s!==void 0&&s.token===e.token&&s.outcome===t.outcome&&s.result_digest===t.resultDigest?Sr(s):null}i(vr,"appendEntryIfClaimed");function Sr(n){let e=p(n);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}i(Sr,"appended");async function qr(n,e){return(await n.run(Qs,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{ordinal:o.number("ordinal"),epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),outcome:o.text("outcome"),resultText:o.textOrNull("result_text"),resultDigest:o.textOrNull("result_digest"),tries:o.number("tries"),seq:o.number("seq"),token:o.text("token"),startedAt:o.date("started_at"),completedAt:o.date("completed_at")}})}i(qr,"readJournal");var Xs=_("ledger.next-look",`
select extract(epoch from min(due.due_at) - ghouls.clock())::double precision as due_in
from (
  (select ghouls.clock() as due_at
  from ghouls.deliveries d
  where d.status = 'CLAIMED'
  order by d.lease_until
  limit 1)
  union all
  select pending.next_publication_at
  from generate_series(9, 0, -1) as p(priority)
  cross join lateral (
    select d.next_publication_at
    from ghouls.deliveries d
    join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
    where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at is not null
      and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
        or (d.cause = 'contain' and run.status in (${k(q)})
          and (run.quarantined_at is null or run.status = 'CANCELLING')))
    order by d.next_publication_at
    limit 1
  ) as pending
  union all
  (select d.hold_expires_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'HELD' and run.status = 'QUEUED' and run.quarantined_at is null
  order by d.hold_expires_at
  limit 1)
  union all
  (select i.next_look_at
  from ghouls.containment_items i
  where i.acknowledged_at is null
  order by i.next_look_at
  limit 1)
  union all
  (select ghouls.clock()
  from ghouls.runs run
  where run.status in (${k(q)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
  order by run.created_at
  limit 1)
) as due`);async function Cr(n){let[e]=await n.run(Xs,[]);return e===void 0?null:p(e).numberOrNull("due_in")}i(Cr,"readNextLook");var Zs=_("deliveries.due-publications",`
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
      or (d.cause = 'contain' and run.status in (${k(q)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`),ea=g("deliveries.mark-published",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`),na=g("deliveries.mark-publication-failed",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq, q.reason
  from unnest($1::text[], $2::uuid[], $3::integer[], $5::text[]) as q(tenant_id, run_id, seq, reason)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d skip locked
)
update ghouls.deliveries d
set publication_failures = d.publication_failures + 1, publication_error = marked.reason,
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publication_failures + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id, d.publication_failures`);async function Rr(n,e){return(await n.run(Zs,[e])).map(r=>{let o=p(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications")}})}i(Rr,"readDuePublications");async function Ar(n,e,t=Ne.afterSuccess){return e.length===0?0:(await n.run(ea,[...Nr(e),t])).length}i(Ar,"markPublished");async function Dr(n,e,t=Ne.afterFailure){if(e.length===0)return 0;let r=e.map(s=>s.publication),o=e.map(s=>s.reason.slice(0,500).replaceAll("\0",""));return(await n.run(na,[...Nr(r),t,o])).length}i(Dr,"markPublicationFailed");function Nr(n){return[n.map(e=>e.tenantId),n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}i(Nr,"arrays");var Pr=`run.tenant_id, run.run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.deadline_at,
  run.created_at, run.started_at, run.finished_at`,ra=_("runs.get",`
select ${Pr}, run.input_text, run.output_text, run.error_text
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),Lr=`
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`,Gn=`
order by run.created_at desc, run.run_id desc
limit $4`,Mr=`${Pr}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,Fn=i((n,e)=>_(`runs.page-${n}`,`
select ${Mr}
from ghouls.runs run${Lr}
  ${e}${Gn}`),"page"),$r=i((n,e)=>_(`runs.page-${n}`,`
select ${Mr}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${Lr}
  and run.status = wanted.status ${e}${Gn}
) as run${Gn}`),"pageOfStatuses"),Ie={all:Fn("all",""),status:$r("status",""),workflow:Fn("workflow","and run.workflow_name = $5"),both:$r("status-workflow","and run.workflow_name = $6"),attention:Fn("attention","and (run.attention_at is not null or run.quarantined_at is not null)")},oa=_("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function Tr(n,e){let[t]=await n.run(ra,[e.tenantId,e.runId]);if(t===void 0)return null;let r=p(t);return{...Fr(r),inputText:r.textOrNull("input_text"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text")}}i(Tr,"readRun");async function jr(n,e,t,r){let[o,s]=r.cursor===void 0?sa:da(r.cursor),[a,d]=ia(t),u=await n.run(a,[e,o,s,r.limit+1,...d]),c=u.slice(0,r.limit),m=c.at(-1);return{runs:c.map(f=>Fr(p(f))),nextCursor:u.length>r.limit&&m!==void 0?aa(m):null}}i(jr,"readRunPage");function ia(n){let{status:e,workflow:t,attention:r}=n;if(r===!0){if(e!==void 0||t!==void 0)throw new y("invalid_request","the attention filter does not combine with others yet",{fix:"Ask with attention alone, and choose among what comes back."});return[Ie.attention,[]]}return e!==void 0&&t!==void 0?[Ie.both,[e,t]]:e!==void 0?[Ie.status,[e]]:t!==void 0?[Ie.workflow,[t]]:[Ie.all,[]]}i(ia,"choose");var sa=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function aa(n){return`${p(n).text("created_micros")}.${p(n).text("run_id")}`}i(aa,"cursorOf");function da(n){let e=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(n);if(e===null)throw new y("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[e[1],e[2]]}i(da,"parseCursor");async function zr(n,e){return(await n.run(oa,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}i(zr,"readDeliveries");function Fr(n){return{tenantId:n.text("tenant_id"),runId:n.text("run_id"),idempotencyKey:n.textOrNull("idempotency_key"),workflow:{name:n.text("workflow_name"),version:n.number("workflow_version"),digest:n.text("workflow_digest")},queue:n.text("queue"),priority:n.number("priority"),agent:n.textOrNull("agent"),requestedBy:n.text("requested_by"),status:n.text("status"),enqueueSeq:n.number("enqueue_seq"),journalLength:n.number("journal_length"),errorCode:n.textOrNull("error_code"),attention:Or(n,"attention_reason","attention_at"),quarantine:Or(n,"quarantine_reason","quarantined_at"),pausedAt:n.dateOrNull("paused_at"),deadlineAt:n.dateOrNull("deadline_at"),createdAt:n.date("created_at"),startedAt:n.dateOrNull("started_at"),finishedAt:n.dateOrNull("finished_at")}}i(Fr,"runOf");function Or(n,e,t){let r=n.textOrNull(e),o=n.dateOrNull(t);return r===null||o===null?null:{reason:r,at:o}}i(Or,"flag");var la=g("deliveries.settle",`
with ${$(L)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${Ee("r.status","DONE")}) or ($5 = 'FAILED' and ${Ee("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${W}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
  from settled
  join ghouls.intents i on i.tenant_id = settled.tenant_id and i.run_id = settled.run_id and i.outcome is null
  returning run_id
), left_open as (
  select held.tenant_id, held.run_id, held.open_items + (select count(*) from effect_item)::integer as items
  from held
)
update ghouls.runs run
set status = case when left_open.items = 0 then $5 when $5 = 'DONE' then 'COMPLETING' else 'FAILING' end,
  finished_at = case when left_open.items = 0 then settled.settled_at end,
  open_items = left_open.items,
  output_text = $7, output_digest = $8, error_code = $9, error_text = $10, error_digest = $11
from settled
join left_open on left_open.tenant_id = settled.tenant_id and left_open.run_id = settled.run_id
where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
returning run.status`),ca=g("deliveries.settle-contain",`
with ${$(q)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`),ma=_("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),fa=g("runs.quarantine",`
with ${$(L)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.checkpoint_generation, t.settled_at
), queued as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, quarantine_reason = $5, quarantined_at = settled.settled_at
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select queued.tenant_id, queued.run_id, queued.enqueue_seq, 'continued', 'PENDING', queued.queue, queued.priority,
  settled.checkpoint_generation, settled.settled_at, null, settled.settled_at
from queued join settled on settled.tenant_id = queued.tenant_id and settled.run_id = queued.run_id
returning run_id`),pa=g("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${k(xe("run"))})
returning run.run_id`);async function Gr(n,e,t){let r=t.status==="DONE"?"done":"failed",o=t.status==="DONE"?[t.outputText,t.outputDigest,null,null,null]:[null,null,t.errorCode,t.errorText,t.errorDigest],s=await n.run(la,[...We(e),t.status,r,...o]),[a]=s;return a!==void 0?{settled:!0,runStatus:p(a).text("status")}:Un(n,e,r)}i(Gr,"settleDeliveryIfClaimed");async function Ur(n,e,t){return n.transaction("deliveries.settle-contain",async r=>{await O(r,[e]);let s=(await r.run(ca,[...We(e),t])).length===1||(await Un(r,e,t)).settled;return{settled:s,ended:s?await j(r,e):null}})}i(Ur,"settleContainIfClaimed");async function Hr(n,e,t){return(await n.run(fa,[...We(e),t])).length===1?!0:(await Un(n,e,"given_back")).settled}i(Hr,"quarantineRunIfClaimed");async function Wr(n,e,t){return(await n.run(pa,[e.tenantId,e.runId,t])).length===1}i(Wr,"raiseAttention");async function Un(n,e,t){let[r]=await n.run(ma,We(e));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=p(r),s=o.text("run_status");return r.mine===!0&&o.textOrNull("outcome")===t?{settled:!0,runStatus:s}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:s}}i(Un,"readClaim");function We(n){return[n.tenantId,n.runId,n.seq,n.token]}i(We,"keyOf");var ya=g("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`);async function Br(n,e,t){await n.run(ya,[e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.digest),t])}i(Br,"recordWorkflows");function w(n,e){return((...t)=>e(n,...t))}i(w,"bind");function U(n,e,t){return(async(...r)=>(await e(),t(n,...r)))}i(U,"opening");function ha(n,e,t,r){return $n(e,t,r)}i(ha,"admitIn");function Kr(n){let e=new Ge(n),t=n.beforeOpening??(()=>Promise.resolve());return{schema:e.schema,runs:{admit:U(e,t,$n),admitIn:U(e,t,ha),byKey:w(e,ie),byId:w(e,Le),get:w(e,Tr),page:w(e,jr),raiseAttention:w(e,Wr),quarantineIfClaimed:w(e,Hr),cancel:U(e,t,sr)},deliveries:{releaseIfHeld:U(e,t,jt),claimIfDue:U(e,t,br),unclaimed:w(e,xr),settleIfClaimed:w(e,Gr),duePublications:w(e,Rr),markPublished:w(e,Ar),markPublicationFailed:w(e,Dr),settleContainIfClaimed:w(e,Ur),beatIfClaimed:w(e,ir),yieldIfClaimed:w(e,er),giveBackIfClaimed:w(e,nr),lapsed:w(e,_r),settleLost:w(e,hr),expiredHolds:w(e,dr),expireHolds:w(e,ur),recordWorkerEnd:U(e,t,Ir),ofRun:w(e,zr)},journal:{appendIfClaimed:w(e,vr),read:w(e,qr)},checkpoints:{read:w(e,tr)},intents:{openIfClaimed:w(e,cr),closeIfClaimed:w(e,mr),openOfRun:w(e,fr),lastOfRun:w(e,pr)},items:{ofRun:w(e,gr),due:w(e,yr),contain:w(e,jn),containSooner:U(e,t,jn),acknowledge:U(e,t,Mn),acknowledgeWorker:U(e,t,or)},evidence:{reject:w(e,ar)},workflows:{record:w(e,Br)},nextLook:w(e,Cr),beforeOpening:t,doctor:i(()=>Xt(e),"doctor"),schemaVersion:i(()=>On(e),"schemaVersion"),transaction:e.transaction.bind(e),close:i(()=>e.close(),"close")}}i(Kr,"openLedger");var Hn="ghouls_app";function Jr(n,e){return`
grant usage on schema ${n} to ${e};
grant select on ${n}.migrations to ${e};
grant select, insert, update on ${n}.workflows to ${e};
grant select, insert, update on ${n}.runs to ${e};
grant select, insert, update on ${n}.deliveries to ${e};
grant select, insert on ${n}.journal to ${e};
grant select, insert on ${n}.checkpoints to ${e};
grant select, insert, update on ${n}.containment_items to ${e};
grant select, insert, update on ${n}.intents to ${e};
grant select, insert on ${n}.evidence to ${e};
grant select, insert on ${n}.audit to ${e};
grant select on ${n}.doctor_open_deliveries to ${e};
grant select on ${n}.doctor_working_runs to ${e};
grant select on ${n}.doctor_terminal_runs to ${e};
grant select on ${n}.doctor_pending_deliveries to ${e};
grant select on ${n}.doctor_journals to ${e};
grant select on ${n}.doctor_open_items to ${e};
grant select on ${n}.doctor_endings to ${e};
grant select on ${n}.doctor_lost_claims to ${e};
grant select on ${n}.doctor_quarantined_runs to ${e};
grant select on ${n}.doctor_runs_with_attention to ${e};
`}i(Jr,"grantsSql");function Vr(n){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${n}') then create schema ${n}; end if;
end $$;
create table if not exists ${n}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}i(Vr,"prologueSql");function Qr(n,e){return`${J(n.sql,e)}
insert into ${e}.migrations (number, name) values (${n.number}, '${n.name}');
`}i(Qr,"stepSql");function Yr(n={}){let{schema:e,role:t}=Zr(n);return["begin;",Vr(e).trim(),...ae.map(r=>`-- ${r.number} ${r.name}
${Qr(r,e).trim()}`),Jr(e,t).trim(),"commit;",""].join(`

`)}i(Yr,"migrationSql");async function Xr(n){let{schema:e,role:t}=Zr(n),r=new se({...n,maxConnections:1,answerTimeoutMs:0,applicationName:"ghouls-migrate"}),o=r.patience();try{let s=await r.connect("the migration",o);try{return await wa(s,e,t)}finally{s.release(!0)}}catch(s){throw ka(s,t)}finally{o.end(),await r.close()}}i(Xr,"migrate");async function wa(n,e,t){await n.query("begin"),await n.query({text:"select pg_advisory_xact_lock(hashtextextended($1, 0))",values:[`ghouls-migrate:${e}`]}),await n.query(Vr(e));let o=await n.query(`select number from ${e}.migrations order by number`),s=Number(o.rows.at(-1)?.number??0),a=ae.at(-1)?.number??0;if(s>a)throw new y("configuration_invalid",`the schema is at migration ${s}, this code knows ${a}`,{fix:"Run the newer version of ghouls."});let d=ae.filter(c=>c.number>s);for(let c of d)await n.query(Qr(c,e));await n.query(Jr(e,t));let u=await n.query("commit");if(u.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${u.command}`);return{applied:d.map(({number:c,name:m})=>({number:c,name:m})),version:a}}i(wa,"applyMissing");function Zr(n){let e=n.schema??re,t=n.applicationRole??Hn;return oe(e,"the schema name"),oe(t,"the application's role"),{schema:e,role:t}}i(Zr,"named");function ka(n,e){let t=typeof n=="object"&&n!==null&&"code"in n?n.code:void 0;return t==="42501"?new y("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:n}):t==="42704"?new y("configuration_invalid",`the application's role "${e}" does not exist`,{fix:`Create it (create role ${e} login), or name yours with --app-role.`,cause:n}):n}i(ka,"readable");import Wn from"pg";var ba={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function Bn(n,e){let{schema:t,migrator:r,application:o}=n;for(let[a,d]of[["the schema name",t],["the migrator's role",r.name],["the application's role",o.name]])oe(d,a);let s=i(({name:a,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${a}') then create role ${a} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${a}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${a} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${a} login password ${Wn.escapeLiteral(d)}`],"role");return[...s(r),...s(o),...Object.entries(ba).map(([a,d])=>`alter role ${o.name} set ${a} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${t} authorization ${r.name}`,`grant connect on database ${Wn.escapeIdentifier(e)} to ${r.name}, ${o.name}`]}i(Bn,"rolesSql");async function eo(n,e){let t=new Wn.Client({connectionString:n});t.on("error",()=>{}),await t.connect();try{let r=(await t.query("select current_database() as name")).rows[0]?.name??"";for(let o of Bn(e,r))await t.query(o)}finally{await t.end()}}i(eo,"createRoles");var Ho={};ve(Ho,{DEFAULT_EXECUTION_SETTINGS:()=>io,Publisher:()=>de,Registry:()=>ln,blameHop:()=>_o,createAdmission:()=>oo,createControl:()=>$o,createLowering:()=>jo,createReads:()=>Oo,reconcile:()=>un,reconcileWhenDue:()=>Uo,work:()=>Do});function to(n,e){let t=[],r=!1,o=i(async()=>{for(r=!0;t.length>0;){let s=t.slice(0,n);t=t.slice(n);try{let a=await e(s.map(d=>d.item));s.forEach((d,u)=>d.resolve(a[u]))}catch(a){for(let d of s)d.reject(a)}}r=!1},"drain");return s=>new Promise((a,d)=>{t.push({item:s,resolve:a,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}i(to,"grouped");var xa=100,de=class{static{i(this,"Publisher")}#e;#n;constructor(e){this.#e=e,this.#n=to(xa,t=>this.#t(t))}publish(e){return this.#n(e)}async#t(e){let{queue:t,log:r,faults:o}=this.#e;try{let{confirmed:s,failed:a}=await t.publish(e);for(let{publication:u,reason:c}of a)r.warn("a delivery could not be published; the relay will",{runId:u.runId,reason:c});await o("admission.after-publish",`${s.length} confirmed`),await this.#r(s,a);let d=new Set(s.map(({runId:u,enqueueSeq:c})=>`${u}:${c}`));return e.map(({runId:u,enqueueSeq:c})=>d.has(`${u}:${c}`)?"published":"failed")}catch(s){return r.warn("publications failed; the relay repeats them",{count:e.length,error:String(s).slice(0,200)}),e.map(()=>"failed")}}async#r(e,t){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(e),await r.deliveries.markPublicationFailed(t)}catch(s){o.warn("publications could not be marked",{count:e.length,error:s.name})}}};var Ea=5,Ia="1h";async function Be(n,e,t){let{request:r}=t,o=Buffer.byteLength(t.inputText);if(o>he)throw new y("too_large",`the input is ${o} bytes of JSON, the limit is ${he}`,{fix:"Keep the material elsewhere and send a reference."});if(r.holdFor!==void 0&&r.held!==!0)throw new y("invalid_request","holdFor is for a run that is held",{issues:[{path:"/holdFor",message:"needs held: true"}],fix:"Add held: true, or leave holdFor out."});let s=JSON.parse(t.inputText),a=r.workflow===void 0?Sa(n.route,{input:s,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=n.registry.choose(r.workflow??a.workflow,r.version);await Ca(d,s);let u=n.ids.next(),c=await n.codec.encode(t.inputText,{tenantId:e.tenantId,runId:u,kind:"input"});return{tenantId:e.tenantId,runId:u,idempotencyKey:t.idempotencyKey??null,requestDigest:await Kn(n.codec,t.canonicalRequest),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:va(n.queues,r.queue??a?.queue??d.definition.queue??Sn),priority:qa(r.priority??a?.priority??Ea),agent:r.agent??null,requestedBy:e.subject,requestedRoles:e.roles,inputText:c,inputDigest:E(c),deadlineMs:d.definition.deadlineMs??null,onWorkerLoss:d.definition.onWorkerLoss,held:r.held??!1,holdMs:P(r.holdFor??Ia)}}i(Be,"prepare");async function Kn(n,e){return n.digest?.(e)??E(e)}i(Kn,"requestDigest");function Sa(n,e){let t;try{t=n?.(e)}catch{throw new y("invalid_request","the route of the configuration could not choose a workflow for this request",{fix:"Name a workflow in the request."})}if(t===void 0)throw new y("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return t}i(Sa,"routeOf");function va(n,e){if(!n.includes(e))throw new y("unknown_queue",`there is no queue "${e}"`,{fix:`Configured are: ${n.join(", ")}.`});return e}i(va,"queueOf");function qa(n){if(!Number.isInteger(n)||n<0||n>9)throw new y("invalid_request",`a priority of ${n} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return n}i(qa,"priorityOf");async function Ca(n,e){let t=await Ra(n,e);if(t.length!==0)throw new y("input_invalid",`the input does not fit workflow "${n.definition.name}"`,{issues:t,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}i(Ca,"checkInput");async function Ra(n,e){try{let t=await n.definition.input.safeParseAsync(e);return t.success?[]:t.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch{return[{path:"/input",message:"the workflow's schema failed on this input"}]}}i(Ra,"issuesOf");function oo(n){let{ledger:e}=n,t=new de(n),r={lockTimeoutMs:n.lockTimeoutMs??2e3,publisherGraceSeconds:n.publisherGraceSeconds??15},o=i(async d=>{d.unpublished&&await Da(t.publish(d))},"publishIfUnpublished"),s=i(async(d,{idempotencyKey:u,canonicalRequest:c})=>{if(u===void 0)return;let[m]=await e.runs.byKey([{tenantId:d.tenantId,idempotencyKey:u}]);if(!(m===void 0||m.requestDigest!==await Kn(n.codec,c)))return Ke({run:m,created:!1})},"admittedBefore"),a=i(async d=>{let u=await e.runs.admit(d,r);await n.faults("admission.after-commit",`${u.size} created`);let c=await ro(d,u,e.runs);return await Promise.all(c.flatMap(m=>"run"in m?[o(m.run)]:[])),c},"commit");return{admit:i(async(d,u)=>{let c;try{c=await Be(n,d,u)}catch(f){let h=await s(d,u);if(h===void 0)throw f;return h}let[m]=await a([c]);if(m===void 0||"conflict"in m)throw Jn(c.idempotencyKey);return Ke(m)},"admit"),admitBatch:i(async(d,u)=>{let c=await $a(u,f=>Be(n,d,f));return{runs:(await a(c)).map((f,h)=>"run"in f?{outcome:"admitted",run:Ke(f)}:{outcome:"conflict",idempotencyKey:c[h]?.idempotencyKey??"",detail:Jn(c[h]?.idempotencyKey??null).message})}},"admitBatch"),release:i(async(d,u)=>{let c={tenantId:d.tenantId,runId:u},m=M(u)&&await e.deliveries.releaseIfHeld(c,r.publisherGraceSeconds),[f]=M(u)?await e.runs.byId([c]):[];if(f===void 0)throw new y("not_found","there is no such run",{fix:"Check the run id."});await o(f);let h=f.status==="FAILING"||f.status==="FAILED"||f.status.startsWith("CANCEL");if(!m&&h)throw new y("hold_ended",`the run is ${f.status}: there is nothing left to release`,{fix:"Admit a new run."});return{runId:u,enqueueSeq:f.enqueueSeq,released:m}},"release"),admitIn:i(async(d,u,c)=>{let m=await Be(n,u,c),f=Te(d,e.schema),h=await je(f,async()=>{let R=await e.runs.admitIn(f,[m],r),[fe]=await ro([m],R,{byKey:i(v=>ie(f,v),"byKey"),byId:i(()=>Promise.resolve([]),"byId")});return fe});if(h===void 0||"conflict"in h)throw Jn(m.idempotencyKey);return{admitted:Ke(h),tenantId:u.tenantId}},"admitIn"),publish:i(async({admitted:d,tenantId:u})=>{if(await e.beforeOpening(),d.held)return;let{runId:c,enqueueSeq:m,queue:f}=d;await t.publish({tenantId:u,runId:c,enqueueSeq:m,queue:f})},"publish")}}i(oo,"createAdmission");var Aa=2e3;async function Da(n){let e,t=new Promise(r=>{e=setTimeout(r,Aa)});await Promise.race([n,t]),clearTimeout(e)}i(Da,"inTime");async function ro(n,e,t){let r=n.filter(u=>!e.has(u.runId)),o=r.flatMap(u=>u.idempotencyKey===null?[]:[{tenantId:u.tenantId,idempotencyKey:u.idempotencyKey}]),s=r.filter(u=>u.idempotencyKey===null),a=new Map((o.length>0?await t.byKey(o):[]).map(u=>[u.idempotencyKey,u])),d=new Map((s.length>0?await t.byId(s):[]).map(u=>[u.runId,u]));return n.map(u=>{if(e.has(u.runId))return{run:Na(u),created:!0};let c=u.idempotencyKey===null?d.get(u.runId):a.get(u.idempotencyKey);if(c===void 0)throw new y("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return c.requestDigest!==u.requestDigest?{conflict:!0}:{run:c,created:c.runId===u.runId}})}i(ro,"settleKeys");function Na(n){let{tenantId:e,runId:t,idempotencyKey:r,requestDigest:o,workflow:s,queue:a,priority:d,held:u}=n;return{tenantId:e,runId:t,idempotencyKey:r,requestDigest:o,workflow:s,queue:a,priority:d,held:u,status:"QUEUED",enqueueSeq:1,unpublished:!u}}i(Na,"freshRun");function Ke({run:n,created:e}){let{runId:t,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u}=n;return{runId:t,created:e,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u}}i(Ke,"admittedView");function Jn(n){return new y("idempotency_conflict",`the idempotency key "${n}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}i(Jn,"conflict");async function $a(n,e){let t=[],r=[],o;for(let[s,a]of n.entries())try{t.push(await e(a))}catch(d){if(!(d instanceof y))throw d;o??=d;let u=d.issues??[{path:"",message:d.message}];r.push(...u.map(c=>({path:`/runs/${s}${c.path}`,message:c.message})))}if(o===void 0)return t;throw new y(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}i($a,"prepareAll");var io={replayPatienceMs:1e3,settleReserveMs:2e3,overdueAfterMs:6e4,actsMarginSeconds:60,leaseMs:12e4,beatMs:3e4,maxLosses:3,maxContainDeliveries:3,publisherGraceSeconds:15};function ue(){return new Promise(n=>setImmediate(n))}i(ue,"comeToRest");function V(){let{promise:n,resolve:e,reject:t}=Promise.withResolvers();return n.catch(()=>{}),{promise:n,resolve:e,reject:t}}i(V,"deferred");var Je=class{static{i(this,"Calls")}#e=new Map;#n=new Map;#t=new Map;next(e,t,r,o){let s=Vn({epoch:e,scope:t,name:o});if(this.#n.has(s))return;let a=S({epoch:e,scope:t,kind:r,name:o,nth:0}),d=(this.#e.get(a)??0)+1;return this.#e.set(a,d),{epoch:e,scope:t,kind:r,name:o,nth:d}}open(e,t,r){let o={id:e,key:S(e),result:V(),start:r,options:t};return this.#t.set(o.key,o),this.#n.set(Vn(e),o.key),o}find(e){return this.#t.get(S(e))}close(e){this.#t.delete(e.key),this.#n.delete(Vn(e.id))}openCalls(){return[...this.#t.values()]}};function Vn(n){return JSON.stringify([n.epoch,n.scope,n.name])}i(Vn,"placeOf");function C(n,e,t){return{kind:"failed",failure:{code:n,name:"Refused",message:e,...t===void 0?{}:{step:t}}}}i(C,"refusal");var Oa=100,Pa=2e3;async function le(n,e){for(let t=Oa;;t=Math.min(Pa,t*2))try{return await n()}catch(r){if(!(r instanceof x)||r.kind==="defect"||r.kind==="schema"||!e.mayGoOn()||(e.onPause(r),await new Promise(o=>setTimeout(o,t*(.5+e.chance()/2))),!e.mayGoOn()))throw r}}i(le,"persist");var so=32*1048576,Ve=class{static{i(this,"JournalWriter")}#e;#n;#t;#r;#o;constructor(e,t,r,o){this.#r=o,this.#e=e,this.#n=r,this.#o=e.journalBytes,this.#t=[...t]}entries(){return this.#t}async reject(e,t){try{let{tenantId:r,runId:o}=this.#e,s=Z(t.outcome==="ok"?t.value:t.failure),a=s===void 0?null:await this.#n.codec.encode(s,{tenantId:r,runId:o,kind:"result"});await this.#n.ledger.evidence.reject(this.#e,{call:S(e),outcome:t.outcome,bodyText:a,bodyDigest:a===null?null:E(a)}),await this.#s(e,t);return}catch(r){return r}}async#s(e,t){if(t.outcome!=="ok"||t.closesIntent!==!0)return;let{epoch:r,scope:o,kind:s,name:a,nth:d}=e,u=`[${[r,o,s,a,d].map(f=>JSON.stringify(f)).join(", ")}]`,{token:c}=this.#e;await this.#n.ledger.items.acknowledge(this.#e,{kind:"effect",key:u,by:"worker",words:"it has happened, says the worker that made the call",token:c})}async write(e,t,r){try{return await this.#i(e,t,r)}catch(o){if(!(o instanceof N))return{written:!1,end:{kind:"unknown",error:o}};let s=`the result of step "${e.name}": ${o.message}`;return{written:!1,end:C(o.reason,s,e.name)}}}async#i(e,t,r){let{tenantId:o,runId:s}=this.#e,a=Z(t.outcome==="ok"?t.value:t.failure),d=a===void 0?null:await this.#n.codec.encode(a,{tenantId:o,runId:s,kind:"result"}),u=d===null?0:Buffer.byteLength(d);if(this.#o+u>so)throw new N("too_large",`it would bring the run's journal above ${so} bytes`);let c={...e,outcome:t.outcome,resultText:d,resultDigest:d===null?null:E(d),resultBytes:u,tries:t.tries,tookMs:r,closesIntent:t.outcome==="ok"&&t.closesIntent===!0},m=await le(()=>this.#n.ledger.journal.appendIfClaimed(this.#e,c),this.#r);return m===null?{written:!1,end:{kind:"fenced"}}:(this.#o+=u,this.#t.push({...e,ordinal:m.ordinal,outcome:t.outcome,digest:d===null?null:E(d)}),await this.#n.faults("worker.after-journal",e.name),{written:!0,text:a,completedAt:m.completedAt})}};async function ao(n){let{options:e}=n;for(let t=1;;t+=1){let r=await Qe(n,t);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:t};if(La(r.thrown)||t>=e.tries)return{outcome:"error",failure:r.failure,tries:t};if(n.hopSignal.aborted)return{outcome:"abandoned",tries:t};if(n.log.warn("a try of a step failed",{step:n.name,try:t,error:r.failure.name}),await Qn(we(e.backoff,t+1,n.chance()),n.hopSignal),n.hopSignal.aborted)return{outcome:"abandoned",tries:t};let s=n.whyNotNow();if(s!==void 0)return{outcome:"stops",end:s}}}i(ao,"runStep");async function Qe(n,e){let{timeoutMs:t}=n.options,r=new AbortController,o=i(()=>r.abort(n.hopSignal.reason),"stop");n.hopSignal.addEventListener("abort",o,{once:!0}),n.hopSignal.aborted&&o();let s=!1,a=setTimeout(()=>{s=!0,r.abort(new DOMException(`step "${n.name}" did not end within ${t} ms`,"TimeoutError"))},t),d=setTimeout(n.onOverdue,t+n.overdueAfterMs);try{let{idempotencyKey:u,log:c}=n;return{outcome:"ok",value:await n.run({idempotencyKey:u,tryNumber:e,signal:r.signal,log:c})}}catch(u){let c=b(u);return{outcome:"error",thrown:u,failure:s?{name:"TimeoutError",message:`it did not end within ${t} ms (then: ${c.message.slice(0,500)})`}:c}}finally{clearTimeout(a),clearTimeout(d),n.hopSignal.removeEventListener("abort",o)}}i(Qe,"callOnce");function La(n){return n instanceof B?!0:n instanceof Error&&n.name==="NonRetryableError"}i(La,"isNonRetryable");function Qn(n,e){return new Promise(t=>{if(e.aborted)return t();let r=i(()=>{clearTimeout(o),e.removeEventListener("abort",r),t()},"end"),o=setTimeout(r,n);e.addEventListener("abort",r,{once:!0})})}i(Qn,"pause");var z=i(n=>({outcome:"stops",end:n}),"stops"),Ma=1e3,Ta=3e5;async function lo(n,e){let t=n.lastNumber,r=n.triesUsed;if(n.openIntent!==void 0){let o=await za(n,n.openIntent,e);if(o!=="cannot_happen")return o}if(r>=n.options.tries)return uo(n,r,{name:"Error",message:"it did not happen"});for(;;){let o=n.whyNotNow();if(o!==void 0)return z(o);if(t+=1,r+=1,await e.faults("worker.before-intent",n.call.name),!await e.ledger.intents.openIfClaimed(n.claim,n.call,t))return z({kind:"fenced"});await e.faults("worker.after-intent",n.call.name);let s=await Qe(co(n,n.call.name,n.run),r);if(s.outcome==="ok")return{outcome:"ok",value:s.value,tries:r,closesIntent:!0};if(!(s.thrown instanceof Y))return ja(n,r,s.failure);if(!await e.ledger.intents.closeIfClaimed(n.claim,n.call,t,"not_done"))return z({kind:"fenced"});if(r>=n.options.tries||n.hopSignal.aborted)return uo(n,r,s.failure);await Qn(we(n.options.backoff,r+1,e.chance()),n.hopSignal)}}i(lo,"onceStep");function co(n,e,t){let{options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d}=n,u=ge(n.claim.firstRunId,n.call);return{name:e,run:t,options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d,idempotencyKey:u}}i(co,"callOf");function uo(n,e,t){return n.log.warn("an effect has certainly not happened",{step:n.call.name,tries:e}),{outcome:"error",failure:t,tries:e}}i(uo,"failedForGood");function ja(n,e,t){return n.probe===void 0?z(Ye(n,t.message)):(n.log.warn("the outcome of an effect is unknown; its probe is asked next",{step:n.call.name,try:e}),z({kind:"given_back",dueAt:new Date(n.ledgerNowMs()+Ma),why:`the outcome of "${n.call.name}" is unknown`}))}i(ja,"unknownOutcome");function Ye(n,e){let{name:t}=n.call;return C("effect_unknown",`effect "${t}" may or may not have happened: ${e.slice(0,500)}`,t)}i(Ye,"effectUnknown");async function za(n,e,t){if(!e.over){let s=e.overAt??new Date(n.ledgerNowMs()+Ta);return z({kind:"given_back",dueAt:s,why:`an earlier worker may still carry out "${n.call.name}"`})}if(n.probe===void 0)return z(Ye(n,"its worker was lost, and it has no probe"));let r=await Yn(n.probe,n);return typeof r=="string"?z(Ye(n,r)):r.outcome==="happened"?{outcome:"ok",value:r.result,tries:e.number,closesIntent:!0}:r.outcome==="unknown"?z(Ye(n,"its probe does not know")):await t.ledger.intents.closeIfClaimed(n.claim,n.call,e.number,"cannot_happen")?"cannot_happen":z({kind:"fenced"})}i(za,"askAbout");async function Yn(n,e){let t=await Qe(co(e,`probe of ${e.call.name}`,n),1);return t.outcome==="error"?`its probe failed: ${t.failure.message.slice(0,300)}`:Fa(t.value)?t.value:"its probe answered nothing that a probe answers"}i(Yn,"probe");function Fa(n){return typeof n!="object"||n===null||!("outcome"in n)?!1:n.outcome==="happened"||n.outcome==="cannot_happen"||n.outcome==="unknown"}i(Fa,"isAnswer");function Xe(n,e,t){return n.claimedAt.getTime()+e.clock.monotonicMs()-t.claimedAtMs}i(Xe,"ledgerNowMs");function Xn(n,e,t,r,o){if(t.deadlineAt!==null&&Xe(t,r,o)>=t.deadlineAt.getTime())return C("deadline",`the run's deadline has passed before step "${n}"`,n);if(!(e<=o.remainingMs()-r.settings.settleReserveMs))return{kind:"yielded",why:"time"}}i(Xn,"whyNotNow");async function mo(n,e){let{call:t,claim:r,run:o,options:s,hopSignal:a,log:d,effects:u,invocation:c}=n,m={run:o,options:s,hopSignal:a,log:d,overdueAfterMs:e.settings.overdueAfterMs,onOverdue:i(()=>Zn(n,e),"onOverdue"),whyNotNow:i(()=>Xn(t.name,s.timeoutMs,r,e,c),"whyNotNow")};try{await e.faults("worker.before-step",t.name);let f=s.once?await lo({...m,call:t,claim:r,probe:s.probe,...u.of(t),ledgerNowMs:i(()=>Xe(r,e,c),"ledgerNowMs")},e):await ao({...m,name:t.name,idempotencyKey:ge(r.firstRunId,t),chance:e.chance});return await e.faults("worker.after-step",t.name),f}catch(f){return s.once?{outcome:"stops",end:{kind:"unknown",error:f}}:{outcome:"error",failure:b(f),tries:1}}}i(mo,"liveStep");function Zn({call:n,claim:e,log:t},r){r.ledger.runs.raiseAttention(e,`step_overdue: ${n.name}`).catch(o=>{t.warn("attention could not be raised",{step:n.name,error:String(o).slice(0,200)})})}i(Zn,"askForAPerson");var Ga=6e4,fo=100,po=new Set(["tries","backoff","timeout","effect","probe"]),go=200;function yo(n,e,t,r){if(typeof n!="string"||n===""||n.length>go||n.includes("\0")||!n.isWellFormed())return`a step's name is a text of 1 to ${go} characters`;if(typeof e!="function")return`step "${n}" has no function`;let o=Object.keys(t??{}).find(s=>!po.has(s));if(o!==void 0)return`step "${n}": option "${o}" is not known in this version (known: ${[...po].join(", ")})`;try{return Ua(n,t??{},r)}catch(s){if(!(s instanceof y))throw s;return`step "${n}": ${s.message}${s.fix===void 0?"":`. ${s.fix}`}`}}i(yo,"resolveStep");function Ua(n,e,t){let r=e.tries??1;if(!Number.isInteger(r)||r<1||r>fo)return`step "${n}": tries is a whole number from 1 to ${fo}`;let o=e.timeout===void 0?Math.min(Ga,t/2):P(e.timeout);return o<=0||o>t?`step "${n}": a timeout of ${e.timeout} does not fit the function's limit of ${Math.floor(t/1e3)} s`:e.effect!==void 0&&e.effect!=="once"?`step "${n}": effect can only be "once"`:e.probe!==void 0&&(e.effect!=="once"||typeof e.probe!="function")?`step "${n}": a probe is a function, and belongs to a step with effect: "once"`:{tries:r,timeoutMs:o,once:e.effect==="once",probe:e.probe,backoff:xn(e.backoff)}}i(Ua,"resolved");import{AsyncLocalStorage as Ha}from"node:async_hooks";var et=new Ha;function nt(n,e){return et.run(n,e)}i(nt,"standIn");function Ze(){return et.getStore()}i(Ze,"whereAmI");function _o(n){let e=et.getStore();return e===void 0?!1:(e.hop.fail(n),!0)}i(_o,"blameHop");function wo(n){let{runId:e,agent:t,requestedBy:r,deadlineAt:o}=n.claim,s=new pe(e,0,"");return{runId:e,agent:t,requestedBy:r,deadline:o===null?void 0:new Date(o),abortSignal:n.abortSignal,log:Wa(n),step:i((a,d,u)=>n.step(a,d,u),"step"),now:i(()=>new Date(n.now()),"now"),random:i(()=>ho("random",()=>s.random()),"random"),uuid:i(()=>ho("uuid",()=>s.uuid()),"uuid")}}i(wo,"workflowContext");function ho(n,e){let t=Ze()?.step;if(t===void 0)return e();throw new B(`ctx.${n}() was called inside step "${t}": draw outside, and use the value inside`)}i(ho,"outsideOfSteps");function Wa(n){let e=i(t=>(r,o)=>{n.isLive()&&n.log[t](r,o)},"only");return{debug:e("debug"),info:e("info"),warn:e("warn"),error:e("error")}}i(Wa,"whileLive");var ce=class{static{i(this,"Hop")}#e;#n;#t;#r;#o;#s;#i;#d;#c=new AbortController;#a=new Je;#m=[];#p;#g=!1;#f=0;#y=!0;#h=!1;#u;#_=V();constructor(e,t,r,o,s,a){this.#e=e,this.#n=t,this.#o=r,this.#s=o,this.#t=s,this.#r=a,this.#i=s.logFor(e),this.#p=e.admittedAt,this.#d=new Ve(e,r,s,{chance:s.chance,mayGoOn:i(()=>this.mayWrite()&&a.remainingMs()>s.settings.settleReserveMs/2,"mayGoOn"),onPause:i(d=>this.#i.warn("the ledger is out of reach; a result waits",{kind:d.kind}),"onPause")})}async run(e){this.#w(e),await this.#k(),this.#g=!0;for(let r of this.#a.openCalls())r.start();let t=await this.#S();return this.#c.abort(new DOMException("the hop has ended","AbortError")),t}async openCalls(e,t){this.#w(e),await this.#k();let r=this.#t.clock.monotonicMs(),o=i(a=>this.#a.openCalls().some(d=>d.key===a),"isOpen");for(;!t.every(o)&&this.#u===void 0&&!(this.#t.clock.monotonicMs()-r>this.#t.settings.replayPatienceMs);)await ue();let s=this.#a.openCalls();return this.#l({kind:"fenced"}),s}fence(){this.#l({kind:"fenced"})}fail(e){this.#l(ko(e))}drain(){this.#l({kind:"yielded",why:"drain"})}mayWrite(){return this.#y}journal(){return this.#d.entries()}#w(e){let t=wo({claim:this.#e,log:this.#i,abortSignal:this.#c.signal,isLive:i(()=>this.#g||this.#o.length===0,"isLive"),now:i(()=>this.#p,"now"),step:i((o,s,a)=>this.#q(o,s,a),"step")});nt({hop:this,step:void 0},i(async()=>this.#n.run(t,e),"body")).then(o=>this.#l({kind:"returned",output:o}),o=>this.#l(ko(o)))}#l(e){let t=this.#u,r=e.kind==="fenced"||e.kind==="unknown";(t===void 0||r||tt(t)&&!tt(e))&&(this.#u=e),r&&(this.#y=!1),e.kind!=="returned"&&!tt(e)&&this.#c.abort(new DOMException("the run does not go on here","AbortError")),this.#_.resolve()}async#k(){await ue();for(let e of this.#o){if(this.#b())return;let t=await this.#I(e);if(t===void 0){let r=this.#a.openCalls().map(o=>qe(o.id));if(this.#b())return;this.#u=C("journal_mismatch",`journal entry ${e.ordinal} is ${qe(e)}, but the code ${r.length===0?"does not ask for it":`asks for ${r.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`);return}this.#x(t,e.outcome,e.text,e.tries,e.completedAt),await ue()}}#b(){let e=this.#u;return this.#h||e!==void 0&&e.kind!=="returned"&&e.kind!=="failed"}async#I(e){let t=this.#t.clock.monotonicMs();for(;;){let r=this.#a.find(e);if(r!==void 0)return r;if(this.#u!==void 0||this.#t.clock.monotonicMs()-t>this.#t.settings.replayPatienceMs)return;await ue()}}async#S(){for(;;){let e=this.#m.shift();if(e!==void 0)await this.#v(e);else{if(this.#u!==void 0&&this.#f===0)return this.#u;await this.#_.promise,this.#_=V()}}}async#v({call:e,end:t,tookMs:r}){if(t.outcome==="stops")return this.#l(t.end);if(t.outcome==="abandoned")return;if(!this.#y){let s=await this.#d.reject(e.id,t),a=s===void 0?void 0:b(s).message.slice(0,200);this.#i.warn("a step ended after its claim was gone; its result is rejected evidence",{step:e.id.name,error:a});return}let o=await this.#d.write(e.id,t,r);if(!o.written)return o.end.kind==="fenced"&&await this.#d.reject(e.id,t),this.#l(o.end);t.outcome==="error"&&this.#u?.kind==="returned"&&this.#i.warn("a step failed that the workflow did not wait for",{step:e.id.name}),this.#x(e,t.outcome,o.text??null,t.tries,o.completedAt),await ue()}#x(e,t,r,o,s){this.#a.close(e),this.#p=s;let a=r===null?void 0:JSON.parse(r);t==="ok"?e.result.resolve(a):e.result.reject(new X(e.id.name,o,a))}#q(e,t,r){let o=Ze()?.step;if(o!==void 0){this.#h=!0;let c=`ctx.step("${String(e).slice(0,200)}") was called inside step "${o}": call it in the workflow itself`;return this.#l(C("invalid_call",c,o)),Promise.reject(new Error(c))}if(this.#u!==void 0)return V().promise;let s=this.#r.limitMs-this.#t.settings.settleReserveMs,a=yo(e,t,r,s);if(typeof a=="string")return this.#E(C("invalid_call",a));let d=this.#a.next(0,"","step",e);if(d===void 0)return this.#E(C("duplicate_call",`a call "${e}" is open already: give calls that run at the same time names of their own`));let u=this.#a.open(d,a,()=>this.#C(u,t));return this.#g&&u.start(),this.#_.resolve(),u.result.promise}#E(e){return this.#h=!0,this.#l(e),V().promise}#C(e,t){if(this.#u!==void 0&&this.#u.kind!=="returned")return;let{clock:r}=this.#t,{options:o}=e,s=Xn(e.id.name,o.timeoutMs,this.#e,this.#t,this.#r);if(s!==void 0)return this.#l(s);this.#f+=1;let a=r.monotonicMs(),{claim:d,log:u,abort:c}={claim:this.#e,log:this.#i,abort:this.#c},m={call:e.id,claim:d,run:t,options:o,hopSignal:c.signal,log:u,effects:this.#s,invocation:this.#r};nt({hop:this,step:e.id.name},()=>mo(m,this.#t)).then(h=>{this.#f-=1,this.#m.push({call:e,end:h,tookMs:r.monotonicMs()-a}),this.#_.resolve()})}};function tt(n){return n.kind==="yielded"||n.kind==="given_back"}i(tt,"handsOver");function ko(n){let e=Ba(n);if(e===void 0)return{kind:"failed",failure:{code:"workflow_failed",...b(n)}};let{name:t,message:r}=b(n);return{kind:"failed",failure:{code:"step_failed",name:t,message:r,...e}}}i(ko,"failureOf");function Ba(n){try{if(!(n instanceof X))return;let e=n.failure.stack;return{step:String(n.step),...typeof e=="string"?{stack:e}:{}}}catch{return}}i(Ba,"stepFailureIn");async function bo(n,e){if(n.seq===1)return{of:i(()=>({openIntent:void 0,lastNumber:0,triesUsed:0}),"of")};let[t,r]=await Promise.all([e.ledger.intents.openOfRun(n),e.ledger.intents.lastOfRun(n)]),o=new Map(t.map(a=>[S(a),a])),s=new Map(r.map(a=>[S(a),a]));return{of:i(a=>({openIntent:o.get(S(a)),lastNumber:s.get(S(a))?.number??0,triesUsed:s.get(S(a))?.tries??0}),"of")}}i(bo,"loadEffects");function rt(n){return E(JSON.stringify(n.map(e=>[e.ordinal,S(e),e.outcome,e.digest])))}i(rt,"journalDigest");var D=class extends Error{static{i(this,"DisagreementError")}constructor(e){super(e),this.name="DisagreementError"}},Q=class extends Error{static{i(this,"CodecError")}constructor(e){super(e),this.name="CodecError"}};async function ot(n,e,t,r){if(e===null||E(n)!==e)throw new D(`${t} disagrees with its digest`);try{return await r(n)}catch(o){throw new Q(`${t}: ${b(o).message.slice(0,200)}`)}}i(ot,"verified");async function xo(n,e,t){if(e.length!==n.journalLength)throw new D(`the journal has ${e.length} entries, the run says ${n.journalLength}`);let r={tenantId:n.tenantId,runId:n.runId,kind:"result"};return Promise.all(e.map(async(o,s)=>{if(o.ordinal!==s+1)throw new D(`journal entry ${s+1} is missing`);let{ordinal:a,epoch:d,scope:u,kind:c,name:m,nth:f,outcome:h,tries:R,completedAt:fe,resultText:v}=o,cn=v===null?Ka(o):await ot(v,o.resultDigest,`journal entry ${a}`,Wo=>t.decode(Wo,r));return{ordinal:a,epoch:d,scope:u,kind:c,name:m,nth:f,outcome:h,text:cn,tries:R,completedAt:fe,digest:o.resultDigest}}))}i(xo,"loadJournal");function Ka(n){if(n.resultDigest!==null)throw new D(`the result of journal entry ${n.ordinal} is gone`);return null}i(Ka,"emptied");function Eo(n,e,t){let r=`checkpoint ${n.checkpointGeneration}`;if(e===null)throw new D(`${r} is missing`);if(e.workflowDigest!==n.workflow.digest)throw new D(`${r} is of another workflow digest`);if(e.journalDigest!==rt(t.slice(0,e.journalLength)))throw new D(`${r} disagrees with the journal`)}i(Eo,"verifyCheckpoint");async function en(n,e){let{name:t,version:r,digest:o}=n.workflow,s=e.registry.find(n.workflow);if(s?.digest!==o){let h=s===void 0?"this worker has none of that name and version":`this worker has ${s.digest}`;return C("workflow_changed",`the run is pinned to workflow "${t}" version ${r} with digest ${o}; ${h}`)}let a=s.definition,d=n.journalLength===0?[]:await xo(n,await e.ledger.journal.read(n),e.codec);n.checkpointGeneration!==null&&Eo(n,await e.ledger.checkpoints.read(n,n.checkpointGeneration),d);let{tenantId:u,runId:c}=n,m=await ot(n.inputText,n.inputDigest,"the input",h=>e.codec.decode(h,{tenantId:u,runId:c,kind:"input"})),f=await Ja(a,m);return"problem"in f?C("input_invalid",`the input does not fit the workflow's schema: ${f.problem}`):{workflow:a,input:f.value,journal:d,effects:await bo(n,e)}}i(en,"loadMaterial");function nn(n){return"workflow"in n}i(nn,"isMaterial");async function Ja(n,e){try{let t=await n.input.safeParseAsync(JSON.parse(e));return t.success?{value:t.data}:{problem:t.error.message.slice(0,1500)}}catch(t){return{problem:b(t).message}}}i(Ja,"inputOf");async function So(n,e,t,r){let o=new AbortController,s=!1,a=i(()=>o.abort(new DOMException("the containment does not go on here","AbortError")),"stop");r.onHop({fence:i(()=>{s=!0,a()},"fence"),drain:a});try{let d=(await e.ledger.items.ofRun(n)).filter(Va),u=await en(n,e);if(!nn(u))return await it(n,"refused",e);let c=new ce(n,u.workflow,u.journal,u.effects,e,t),m=d.map(R=>Io(R.key)),f=new Map((await c.openCalls(u.input,m)).map(R=>[S(R.id),R])),h=await Promise.all(d.map(R=>Qa(n,R,f.get(Io(R.key)),o.signal,e)));return s?{kind:"fenced"}:await it(n,h.every(Boolean)?"done":"failed",e)}catch(d){if(!(d instanceof D)&&!(d instanceof Q))throw d;return e.logFor(n).error("a contain delivery could not be begun",{error:d.message}),it(n,"refused",e)}}i(So,"carryContain");function Io(n){return JSON.stringify(JSON.parse(n))}i(Io,"sameKey");function Va(n){return n.kind==="effect"&&n.acknowledgedAt===null}i(Va,"isOpenEffect");async function Qa(n,e,t,r,o){if(t?.options.probe===void 0)return!1;let s=o.logFor(n),a=await Yn(t.options.probe,{call:t.id,claim:n,options:t.options,log:s,hopSignal:r,overdueAfterMs:o.settings.overdueAfterMs,onOverdue:i(()=>Zn({call:t.id,claim:n,log:s},o),"onOverdue")});if(typeof a=="string"||a.outcome==="unknown")return s.warn("an effect of an ending run is still unknown",{step:t.id.name,reason:typeof a=="string"?a:"unknown"}),!1;let d=a.outcome==="happened"?"it has happened":"it has not happened, and cannot any more";return await o.ledger.items.acknowledge(n,{kind:"effect",key:e.key,by:"probe",words:d,under:n})!==null}i(Qa,"settleEffect");async function it(n,e,t){let{settled:r,ended:o}=await t.ledger.deliveries.settleContainIfClaimed(n,e);return r?(o===null&&(e!=="done"&&await t.ledger.runs.raiseAttention(n,`containment ${e}: an effect is still unknown`),await t.ledger.items.containSooner(n,t.settings.maxContainDeliveries)),{kind:"contained",outcome:e}):{kind:"fenced"}}i(it,"finish");async function vo(n,e,t,r){await r.faults("worker.before-handover",n.runId);let o=await r.ledger.deliveries.yieldIfClaimed(n,{workflowDigest:n.workflow.digest,journalLength:e.length,journalDigest:rt(e)},{idle:t.idle,publisherGraceSeconds:r.settings.publisherGraceSeconds});return await r.faults("worker.after-handover",n.runId),o===null?{kind:"fenced"}:(await Ya(n,o,r),{kind:"handed_over",why:t.why})}i(vo,"handOver");async function st(n,e,t){await t.faults("worker.before-handover",n.runId);let r=await t.ledger.deliveries.giveBackIfClaimed(n,e.dueAt);return await t.faults("worker.after-handover",n.runId),r===null?{kind:"fenced"}:{kind:"handed_over",why:e.why}}i(st,"giveBack");async function Ya(n,e,t){let{tenantId:r,runId:o}=n;await t.publisher.publish({tenantId:r,runId:o,enqueueSeq:e.enqueueSeq,queue:e.queue})}i(Ya,"publish");async function qo(n,e,t,r){let{tenantId:o,runId:s}=n,a=t.kind==="returned"?await Za(e,t.output):t.failure;if(Xa(a)){let u=await r.codec.encode(JSON.stringify(a),{tenantId:o,runId:s,kind:"error"});return{status:"FAILED",errorCode:a.code,errorText:u,errorDigest:E(u)}}if(a.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(a.text,{tenantId:o,runId:s,kind:"output"});return{status:"DONE",outputText:d,outputDigest:E(d)}}i(qo,"settlementOf");function Xa(n){return"code"in n}i(Xa,"isFailure");async function Za(n,e){try{let t=await n?.output?.safeParseAsync(e);return t!==void 0&&!t.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${t.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:Z(t===void 0?e:t.data)}}catch(t){return t instanceof N?{code:t.reason,name:"Refused",message:`what the workflow returned: ${t.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${b(t).message.slice(0,500)}`}}}i(Za,"outputOf");async function Co(n,e,t){await t.faults("worker.before-settle",n.runId);let r=await t.ledger.deliveries.settleIfClaimed(n,e);return await t.faults("worker.after-settle",n.runId),r}i(Co,"settle");async function Ro(n,e,t,r){try{await e.faults("worker.after-claim",n.runId);let o=n.cause==="contain"?await So(n,e,t,r):await ed(n,e,t,r);return o.kind==="fenced"&&await td(n,e),o}catch(o){return o instanceof D?od(n,o.message,e):o instanceof Q?rd(n,o,e,t):{kind:"unknown",error:o}}}i(Ro,"carry");async function ed(n,e,t,r){let o=await en(n,e);if(!nn(o))return tn(n,o,e,t,void 0);if(n.deadlineAt!==null&&n.claimedAt>=n.deadlineAt){let d=`the run's deadline ${n.deadlineAt.toISOString()} had passed when a worker claimed it`;return tn(n,C("deadline",d),e,t,void 0)}let s=new ce(n,o.workflow,o.journal,o.effects,e,t);r.onHop(s);let a=await s.run(o.input);return tn(n,a,e,t,s)}i(ed,"carryHop");async function tn(n,e,t,r,o){switch(e.kind){case"fenced":case"unknown":return e;case"given_back":return le(()=>st(n,e,t),at(n,t,r,o));case"yielded":{let s=e.why==="time"&&o?.journal().length===n.journalLength;return!s||n.idleYields===0?le(()=>vo(n,o?.journal()??[],{why:e.why,idle:s},t),at(n,t,r,o)):tn(n,C("no_progress",nd),t,r,o)}case"returned":case"failed":{let s=t.registry.find(n.workflow)?.definition,a=await qo(n,s,e,t),d=await le(()=>Co(n,a,t),at(n,t,r,o));return d.settled?(a.status==="FAILED"&&a.errorCode==="effect_unknown"&&await t.ledger.runs.raiseAttention(n,"effect_unknown: an effect may or may not have happened"),{kind:"settled",status:d.runStatus}):{kind:"fenced"}}}}i(tn,"conclude");function at(n,e,t,r){return{chance:e.chance,mayGoOn:i(()=>r?.mayWrite()!==!1&&t.remainingMs()>e.settings.settleReserveMs/2,"mayGoOn"),onPause:i(o=>e.logFor(n).warn("the ledger is out of reach; the hop's end waits",{kind:o.kind}),"onPause")}}i(at,"persistenceOf");var nd="two invocations in a row ended without a new journal entry: a step does not fit into one";async function td(n,e){try{await e.ledger.items.acknowledgeWorker(n)}catch(t){e.logFor(n).warn("a worker could not acknowledge its own end",{error:String(t).slice(0,200)})}}i(td,"acknowledge");async function rd(n,e,t,r){t.logFor(n).error("a payload could not be decoded; the delivery goes back",{error:e.message});try{let o=new Date(Xe(n,t,r)+3e4);return await st(n,{kind:"given_back",dueAt:o,why:"a payload could not be decoded"},t)}catch(o){return{kind:"unknown",error:o}}}i(rd,"later");async function od(n,e,t){try{return await t.ledger.runs.quarantineIfClaimed(n,e)?{kind:"quarantined",reason:e}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}i(od,"quarantine");async function rn(n,e=null){let{ledger:t,publisher:r,faults:o,log:s,settings:a}=n,d=await t.deliveries.lapsed(n.pageSize,e);if(d.length===0)return{lapsed:0,resumed:0,failing:0};await o("reanimation.after-select",`${d.length} lapsed`);let u=(await Promise.all(d.map(f=>id(f,n)))).flat(),c=await t.deliveries.settleLost(u,a);await o("reanimation.after-judgement",`${c.length} judged`);let m=c.filter(f=>f.status==="QUEUED");for(let{runId:f,status:h,enqueueSeq:R}of c)s.warn("a worker was lost",{runId:f,status:h,enqueueSeq:R});return await Promise.all(m.map(f=>r.publish(f))),{lapsed:d.length,resumed:m.length,failing:c.filter(f=>f.status==="FAILING").length}}i(rn,"reanimate");async function id(n,{codec:e,log:t,settings:r}){if(n.onWorkerLoss==="resume"&&n.losses+1<r.maxLosses)return[{...n,errorText:"",errorDigest:""}];let s={code:"ghoul_lost",name:"Lost",message:n.onWorkerLoss==="fail"?`the worker of delivery ${n.seq} was lost, and the workflow does not resume`:`the worker of delivery ${n.seq} was lost, and the run has used up its losses (${n.losses+1})`},{tenantId:a,runId:d}=n;try{let u=await e.encode(JSON.stringify(s),{tenantId:a,runId:d,kind:"error"});return[{...n,errorText:u,errorDigest:E(u)}]}catch(u){return t.error("the codec could not write why a run was lost; the next pass tries",{runId:d,error:b(u).message.slice(0,200)}),[]}}i(id,"withFailure");var on=class{static{i(this,"Heartbeat")}#e;#n=new Set;#t;#r;#o;#s;#i;constructor(e,t){this.#e=e,this.#t=t,this.#r=t}start(e){for(let r of e)this.#n.add(r);if(this.#n.size===0)return;let t=Math.max(10,Math.min(this.#e.beatMs,this.#e.leaseMs/10));this.#o=setInterval(()=>this.#a(),t),this.#i=this.#p([...this.#n])}remove(e){this.#n.delete(e),this.#n.size===0&&this.#d()}async stop(){this.#d(),this.#n.clear(),await this.#s,await this.#i}#d(){clearInterval(this.#o),this.#o=void 0}#c(){return{monotonicMs:this.#e.clock.monotonicMs(),wallMs:this.#e.clock.wallMs()}}#a(){let e=this.#c(),{leaseMs:t,beatMs:r}=this.#e;if(Ao(this.#t,e)>t*.9){this.#g("its own lease could not be extended in time");return}this.#s!==void 0||Ao(this.#r,e)<r||(this.#r=e,this.#s=this.#m(e).finally(()=>{this.#s=void 0}))}async#m(e){let{ledger:t,faults:r,leaseMs:o,log:s}=this.#e,a=[...this.#n];try{await r("worker.before-beat",`${a.length} claims`);let d=await t.deliveries.beatIfClaimed(a.map(m=>m.claim),o/1e3);this.#t=e;let u=a.filter(m=>d.has(`${m.claim.runId}:${m.claim.seq}`));for(let m of a)u.includes(m)||this.#f(m,"the ledger has given it to nobody or to another");let c=this.#i;this.#i=Promise.resolve(c).then(()=>this.#p(u))}catch(d){s.warn("a heartbeat failed",{claims:a.length,error:String(d).slice(0,200)})}}async#p(e){let{queue:t,queueName:r,leaseMs:o,log:s}=this.#e,a=e.filter(d=>this.#n.has(d)).flatMap(d=>d.receiptHandles);if(a.length!==0)try{let d=await t.changeVisibilities(r,a,Math.ceil(o/1e3));d.length>0&&s.warn("the visibility of messages could not be extended",{messages:d.length})}catch(d){s.warn("the visibility of messages could not be extended",{error:String(d).slice(0,200)})}}#g(e){for(let t of this.#n)this.#f(t,e)}#f(e,t){this.#n.delete(e)&&(this.#e.log.warn("a claim is fenced",{runId:e.claim.runId,enqueueSeq:e.claim.seq,why:t}),e.fence(t),this.#n.size===0&&this.#d())}};function Ao(n,e){return Math.max(e.monotonicMs-n.monotonicMs,e.wallMs-n.wallMs)}i(Ao,"since");async function Do(n,e,t){let r=new Map;for(let s of n){let a=Ae(s.body);if(a===void 0)continue;let d=r.get(F(a));d===void 0?r.set(F(a),{...a,receiptHandles:[s.receiptHandle]}):d.receiptHandles.push(s.receiptHandle)}let o=await sd(r,e,t);return Promise.all(n.map(async s=>{let a=Ae(s.body);if(a===void 0)return e.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:s.messageId,bytes:Buffer.byteLength(s.body)}),{messageId:s.messageId,done:!1,reason:"poison"};let d=o.get(F(a))??{done:!1,reason:"unknown_outcome"};return d.retryInSeconds!==void 0&&await gd(s,d.retryInSeconds,e,t),{messageId:s.messageId,done:d.done,reason:d.reason}}))}i(Do,"work");async function sd(n,e,t){let r=[...n.values()];if(r.length===0)return new Map;if(e.draining.aborted)return new Map(r.map(u=>[F(u),{done:!1,reason:"draining",retryInSeconds:1}]));let o=new Map,s={monotonicMs:e.clock.monotonicMs(),wallMs:e.clock.wallMs()},a;try{a=await md(r,e,t)}catch(u){e.log.error("a batch could not be claimed; its messages go back",{count:r.length,error:sn(u)});let c={done:!1,reason:"unclaimed",retryInSeconds:ad};return new Map(r.map(m=>[F(m),c]))}for(let[u,c]of await dd(a,n,s,e,t)){let m=fd(u,c,e);m!==void 0&&o.set(F({runId:u.runId,enqueueSeq:u.seq}),m)}let d=r.filter(u=>!o.has(F(u)));for(let[u,c]of await pd(d,e))o.set(u,c);return o}i(sd,"carryAll");var ad=10;async function dd(n,e,t,r,o){let{limitMs:s,remainingMs:a}=o,{leaseMs:d,beatMs:u}=r.settings,c=new on({...r,leaseMs:d,beatMs:u,queueName:o.queue},t),m=n.map(v=>ud(v,e.get(F({runId:v.runId,enqueueSeq:v.seq}))));c.start(m.map(v=>v.beating));let f=i(()=>m.forEach(v=>v.drain()),"drain");r.draining.addEventListener("abort",f,{once:!0}),r.draining.aborted&&f();let h=[],R=Promise.all(m.map(async v=>{let cn={limitMs:s,remainingMs:a,claimedAtMs:t.monotonicMs};h.push([v.claim,await Ro(v.claim,r,cn,{onHop:v.onHop})]),c.remove(v.beating)})),fe=await ld(R,a()-r.settings.settleReserveMs/4);return r.draining.removeEventListener("abort",f),await c.stop(),fe||r.exit(`${n.length-h.length} steps are in flight at the end of the invocation`),h}i(dd,"carryBatch");function ud(n,e){let t,r,o=i(a=>{r=r==="fence"?r:a,t?.[a]()},"say"),s={claim:n,receiptHandles:e?.receiptHandles??[],fence:i(()=>o("fence"),"fence")};return{claim:n,beating:s,drain:i(()=>o("drain"),"drain"),onHop:i(a=>{t=a,r!==void 0&&a[r]()},"onHop")}}i(ud,"carriedRun");async function ld(n,e){let t,r=new Promise(o=>{t=setTimeout(()=>o(!1),Math.min(Math.max(0,e),cd))});try{return await Promise.race([n.then(()=>!0),r])}finally{clearTimeout(t)}}i(ld,"beforeTheEnd");var cd=2147483647;function md(n,e,t){let r=Math.max(1,t.remainingMs()/1e3);return e.ledger.deliveries.claimIfDue(n.map(o=>({...o,token:e.ids.next()})),{worker:e.worker,leaseSeconds:e.settings.leaseMs/1e3,actsForSeconds:t.endsByForce?r+e.settings.actsMarginSeconds:null})}i(md,"claim");function fd(n,e,t){let r=t.logFor(n);switch(e.kind){case"settled":return r.info("run settled",{status:e.status,workflow:n.workflow.name}),{done:!0,reason:e.status};case"handed_over":return r.info("the run goes on in another hop",{why:e.why}),{done:!0,reason:"handed_over"};case"contained":return r.info("a contain delivery has ended",{outcome:e.outcome}),{done:!0,reason:`contain_${e.outcome}`};case"quarantined":return r.error("run quarantined",{reason:e.reason}),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:sn(e.error)}),{done:!1,reason:"unknown_outcome"}}}i(fd,"verdictOf");async function pd(n,e){if(n.length===0)return[];try{let t=await e.ledger.deliveries.unclaimed(n),r=[...t].filter(([,o])=>o.deliveryStatus==="CLAIMED"&&(o.leaseEndsInSeconds??1)<=0);return r.length>0&&(await rn({...e,pageSize:r.length},r.map(([o])=>o.slice(0,o.indexOf(":")))),t=await e.ledger.deliveries.unclaimed(n)),n.map(o=>{let s=An(t.get(F(o))),{runId:a,enqueueSeq:d}=o;return e.log.info("a delivery was skipped",{runId:a,enqueueSeq:d,reason:s.reason}),[F(o),s.deleteMessage?{done:!0,reason:s.reason}:{done:!1,reason:s.reason,retryInSeconds:s.retryInSeconds}]})}catch(t){return e.log.error("skipped deliveries could not be read; their messages go back",{error:sn(t)}),[]}}i(pd,"explain");async function gd(n,e,t,r){try{await t.queue.changeVisibility(r.queue,n.receiptHandle,e)}catch(o){t.log.warn("a message's visibility could not be changed",{messageId:n.messageId,error:sn(o)})}}i(gd,"putBack");function F(n){return`${n.runId}:${n.enqueueSeq}`}i(F,"keyOf");function sn(n){let{name:e,message:t}=b(n);return`${e}: ${t}`.slice(0,300)}i(sn,"nameOf");function dt(n){return n.kind==="worker"?`worker-${n.key}`:`${n.kind}-${E(n.key).slice(0,12)}`}i(dt,"itemId");function No(n){return{id:dt(n),kind:n.kind,subject:n.kind==="worker"?n.worker:yd(n.key),enqueueSeq:n.seq,overAt:n.overAt?.toISOString()??null,createdAt:n.createdAt.toISOString(),acknowledgedAt:n.acknowledgedAt?.toISOString()??null,acknowledgedBy:n.acknowledgedBy,acknowledgement:n.acknowledgement}}i(No,"itemView");function yd(n){let[,,,e]=JSON.parse(n);return e}i(yd,"stepOf");function $o({ledger:n,settings:e}){return{cancel:i(async(t,r,o)=>{if(!M(r))throw me();let s={tenantId:t.tenantId,runId:r},a=await n.runs.cancel(s,{actor:t.subject,reason:o},e.actsMarginSeconds);if(a===null)throw me();return{runId:r,cancelled:a.cancelled,status:a.status}},"cancel"),resolve:i(async(t,r,o,s)=>{if(!M(r))throw me();let a={tenantId:t.tenantId,runId:r},d=(await n.items.ofRun(a)).find(h=>h.acknowledgedAt===null&&dt(h)===o);if(d===void 0)throw me();let{kind:u,key:c}=d,m=await n.items.acknowledge(a,{kind:u,key:c,by:"operator",words:s},{actor:t.subject,reason:s});if(m===null)throw me();let f=m.ended??(await n.runs.get(a))?.status;if(f===void 0)throw me();return{runId:r,item:o,openItems:m.openItems,status:f}},"resolve")}}i($o,"createControl");function me(){return new y("not_found","there is no such run, or no such open item of it",{fix:"Check the ids: `ghouls show <run id>` lists the items of a run."})}i(me,"absent");function Oo(n){let{ledger:e,codec:t}=n;return{getRun:i(async(r,o)=>{if(!M(o))return;let s=await e.runs.get({tenantId:r,runId:o});return s===null?void 0:_d(s,await e.items.ofRun({tenantId:r,runId:o}),t)},"getRun"),listRuns:i(async(r,o,s)=>{let{runs:a,nextCursor:d}=await e.runs.page(r,o,s);return{runs:a.map(Po),nextCursor:d}},"listRuns"),getTimeline:i(async(r,o)=>{if(!M(o))return;let s={tenantId:r,runId:o},a=await e.runs.get(s);if(a===null)return;let[d,u]=await Promise.all([e.deliveries.ofRun(s),e.journal.read(s)]);return{runId:o,status:a.status,entries:hd(a,d,u)}},"getTimeline")}}i(Oo,"createReads");var an=i(n=>n?.toISOString()??null,"iso");function Po(n){let e=i(t=>t===null?null:{reason:t.reason,at:t.at.toISOString()},"flag");return{runId:n.runId,workflow:n.workflow,status:n.status,queue:n.queue,priority:n.priority,agent:n.agent,idempotencyKey:n.idempotencyKey,requestedBy:n.requestedBy,enqueueSeq:n.enqueueSeq,steps:n.journalLength,errorCode:n.errorCode,attention:e(n.attention),quarantine:e(n.quarantine),pausedAt:an(n.pausedAt),deadlineAt:an(n.deadlineAt),createdAt:n.createdAt.toISOString(),startedAt:an(n.startedAt),finishedAt:an(n.finishedAt)}}i(Po,"summaryOf");async function _d(n,e,t){let{tenantId:r,runId:o}=n,s=i(async(a,d)=>a===null?null:JSON.parse(await t.decode(a,{tenantId:r,runId:o,kind:d})),"read");return{...Po(n),input:await s(n.inputText,"input"),output:await s(n.outputText,"output"),error:await s(n.errorText,"error"),containment:e.map(No)}}i(_d,"viewOf");function hd(n,e,t){let r=[{kind:"admitted",at:n.createdAt.toISOString()}];for(let s of e)r.push(...kd(s));for(let s of t)r.push({kind:"step",at:s.completedAt.toISOString(),enqueueSeq:s.seq,ordinal:s.ordinal,name:s.name,nth:s.nth,outcome:s.outcome,tries:s.tries,startedAt:s.startedAt.toISOString()});n.finishedAt!==null&&r.push({kind:"finished",at:n.finishedAt.toISOString(),status:n.status,errorCode:n.errorCode});let o=i(s=>wd.indexOf(s.kind),"rank");return r.toSorted((s,a)=>s.at===a.at?o(s)-o(a):s.at<a.at?-1:1)}i(hd,"timelineOf");var wd=["admitted","delivery","published","claimed","step","worker_ended","fenced","settled","finished"];function kd(n){let{seq:e,cause:t,status:r,publications:o}=n,s=[{kind:"delivery",at:n.createdAt.toISOString(),enqueueSeq:e,cause:t,status:r,dueAt:n.dueAt.toISOString()}];n.publishedAt!==null&&s.push({kind:"published",at:n.publishedAt.toISOString(),enqueueSeq:e,publications:o});let a=n.claimedBy??"unknown";if(n.claimedAt!==null&&s.push({kind:"claimed",at:n.claimedAt.toISOString(),enqueueSeq:e,worker:a}),n.workerEndedAt!==null){let d=n.workerEnd??"unknown";s.push({kind:"worker_ended",at:n.workerEndedAt.toISOString(),enqueueSeq:e,worker:a,how:d})}return n.settledAt!==null&&n.outcome!==null&&s.push({kind:"settled",at:n.settledAt.toISOString(),enqueueSeq:e,outcome:n.outcome}),n.fencedAt!==null&&s.push({kind:"fenced",at:n.fencedAt.toISOString(),enqueueSeq:e}),s}i(kd,"ofDelivery");async function Lo(n){let{ledger:e,faults:t,log:r}=n,o=await e.items.due(n.pageSize);o.length>0&&await t("containment.after-select",`${o.length} runs`);let[s,a]=[0,0];for(let d of o)try{let u=await e.items.contain(d,n.settings.maxContainDeliveries);await t("containment.after-look",d.runId),u.ended!==null?(s+=1,r.info("a run has ended, and nothing of it can act any more",{runId:d.runId,status:u.ended})):u.needsWord&&await e.runs.raiseAttention(d,"containment: something of the run waits for a word")}catch(u){a+=1,r.warn("a run's items could not be looked at",{runId:d.runId,error:String(u).slice(0,200)})}return{due:o.length,ended:s,failed:a}}i(Lo,"contain");async function Mo(n){let{ledger:e,faults:t,log:r}=n,o=await e.deliveries.expiredHolds(n.pageSize);if(o.length===0)return{expired:0,ended:0,failed:0};await t("holds.after-select",`${o.length} expired`);let s=(await Promise.all(o.map(d=>bd(d,n)))).flat(),a=await e.deliveries.expireHolds(s);await t("holds.after-expiry",`${a.length} ended`);for(let{runId:d,status:u}of a)r.info("a held run was not released in time",{runId:d,status:u});return{expired:o.length,ended:a.length,failed:o.length-s.length}}i(Mo,"expireHolds");async function bd(n,{codec:e,log:t}){let{tenantId:r,runId:o,expiredAt:s}=n,a={code:"hold_expired",name:"Expired",message:`the run was held until ${s.toISOString()}, and nobody released it`};try{let d=await e.encode(JSON.stringify(a),{tenantId:r,runId:o,kind:"error"});return[{...n,errorText:d,errorDigest:E(d)}]}catch(d){return t.error("the codec could not write why a held run failed; the next pass tries",{runId:o,error:b(d).message.slice(0,200)}),[]}}i(bd,"withFailure");async function To(n){let{ledger:e,queue:t,faults:r,log:o}=n,s=await e.deliveries.duePublications(n.pageSize);if(s.length===0)return{due:0,published:0,failed:0};await r("relay.after-select",`${s.length} due`);let{confirmed:a,failed:d}=await t.publish(s);await r("relay.after-publish",`${a.length} confirmed`),await e.deliveries.markPublished(a),await e.deliveries.markPublicationFailed(d);for(let{publication:c,reason:m}of d)o.warn("the relay could not publish a delivery",{runId:c.runId,reason:m});let u=new Set(a.map(c=>`${c.runId}:${c.enqueueSeq}`));for(let c of s)c.publications+1<kn||!u.has(`${c.runId}:${c.enqueueSeq}`)||await e.runs.raiseAttention(c,"unclaimed: published again and again, and claimed by no worker");return{due:s.length,published:a.length,failed:d.length}}i(To,"relay");async function un(n){return{reanimation:await dn("reanimation",n,{lapsed:0,resumed:0,failing:0},()=>rn(n),e),holds:await dn("holds",n,{expired:0,ended:0,failed:0},()=>Mo(n),t=>t.ended>0&&t.expired>=n.pageSize),containment:await dn("containment",n,{due:0,ended:0,failed:0},()=>Lo(n),t=>t.ended>0&&t.due>=n.pageSize),relay:await dn("relay",n,{due:0,published:0,failed:0},()=>To(n),t=>t.published>0&&t.due>=n.pageSize)};function e(t){return t.lapsed>=n.pageSize&&t.resumed+t.failing>0}}i(un,"reconcile");async function dn(n,e,t,r,o){let s={...t},a=0;try{for(;e.remainingMs()>e.pageBudgetMs;){let d=await r();if(a+=1,s=xd(s,d),!o(d))break}return{...s,pages:a}}catch(d){return e.log.error("a pass was interrupted",{pass:n,error:String(d).slice(0,300)}),{...s,pages:a,error:d instanceof Error?d.name:"error"}}}i(dn,"pass");function xd(n,e){let t=Object.keys(n);return Object.fromEntries(t.map(r=>[r,n[r]+e[r]]))}i(xd,"sum");async function Se(n,e){let t=Promise.withResolvers(),r=setTimeout(()=>t.reject(new Error(`no answer within ${e} ms`)),e);try{return await Promise.race([n,t.promise])}finally{clearTimeout(r)}}i(Se,"answerWithin");var Ed=3e4;function jo(n){let{hint:e,clock:t,log:r,patienceMs:o=1e3}=n,s,a,d=i(()=>{if(s===void 0)return!1;let c=t.wallMs()-s.wallMs;return c>=0&&Math.max(c,t.monotonicMs()-s.monotonicMs)<Ed},"remembered"),u=i(async()=>{let c={monotonicMs:t.monotonicMs(),wallMs:t.wallMs()};try{await Se(e.lower(c.wallMs,c.wallMs),o),s=c}catch(m){r.warn("the reconciler's hint could not be lowered; its hourly look stands in for it",{error:String(m).slice(0,200)})}finally{a=void 0}},"lower");return()=>d()?Promise.resolve():a??=u()}i(jo,"createLowering");function zo(n,e){return n===void 0||n.dueAtMs<=e||Go(n,e)?{connect:!0}:n.dueAtMs>e+36e5?{connect:!0}:{connect:!1,untilMs:n.dueAtMs}}i(zo,"wakeOf");function Fo(n,e,t){if(n!==void 0&&Go(n,e))return;let r=t.atMs+36e5;if(t.dueInSeconds===null)return r;if(!(t.dueInSeconds<=120))return Math.min(r,t.atMs+Math.floor(t.dueInSeconds*1e3))}i(Fo,"raisedTo");function Go({openedAtMs:n},e){return n!==void 0&&e-n<12e4}i(Go,"mayBeCommitting");async function Uo(n){let{clock:e,hint:t,log:r,hintPatienceMs:o=1500}=n,s=e.wallMs(),a;try{a={state:await Se(t.read(),o)}}catch(c){r.warn("the hint could not be read: the ledger is looked at",{error:String(c).slice(0,200)})}let d=zo(a?.state,s);if(!d.connect)return{skipped:!0,until:new Date(d.untilMs).toISOString()};let u=await un(n);return t.keeps&&a!==void 0&&Sd(u)&&await Id(n,a.state,s),u}i(Uo,"reconcileWhenDue");async function Id({ledger:n,hint:e,clock:t,log:r,hintPatienceMs:o=1500},s,a){try{let d=t.wallMs(),u=Fo(s,a,{atMs:d,dueInSeconds:await n.nextLook()});if(u===void 0)return;await Se(e.raise(s?.version,d,u),o)}catch(d){r.warn("the hint could not be raised",{error:String(d).slice(0,200)})}}i(Id,"raise");function Sd(n){return Object.values(n).every(e=>e.error===void 0&&e.pages>0&&(e.failed??0)===0)}i(Sd,"isWhole");var ln=class{static{i(this,"Registry")}#e=new Map;#n=new Map;constructor(e){for(let t of e){let{name:r,version:o}=t.definition,s=`${r}@${o}`;if(this.#e.has(s))throw new y("configuration_invalid",`workflow "${r}" version ${o} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(s,t);let a=this.#n.get(r);(a===void 0||a.definition.version<o)&&this.#n.set(r,t)}}all(){return[...this.#e.values()]}pins(){return this.all().map(({definition:e,digest:t})=>({name:e.name,version:e.version,digest:t}))}choose(e,t){let r=t===void 0?this.#n.get(e):this.#e.get(`${e}@${t}`);if(r===void 0){let o=t===void 0?`"${e}"`:`"${e}" version ${t}`;throw new y("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(e){return this.#e.get(`${e.name}@${e.version}`)}};export{$t as core,Ho as engine,no as ledger};
