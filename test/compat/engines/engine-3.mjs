/* engine 3, frozen by test/compat/freeze.ts */
var et=Object.defineProperty;var i=(n,e)=>et(n,"name",{value:e,configurable:!0});var Ee=(n,e)=>{for(var t in e)et(n,t,{get:e[t],enumerable:!0})};var It={};Ee(It,{ATTEMPT_MOVES:()=>ut,CALL_KINDS:()=>xo,CONSENT_MOVES:()=>lt,DEFAULT_QUEUE:()=>yn,DEFAULT_QUEUES:()=>Go,DELIVERY_CAUSES:()=>hn,DELIVERY_MOVES:()=>dt,DELIVERY_OUTCOMES:()=>_n,ERROR_CODES:()=>Io,FAULT_POINTS:()=>qo,GhoulsError:()=>p,LONGEST_RESIDENT_DELAY_MS:()=>mn,MAX_DEPTH:()=>ye,MAX_FAILURE_MESSAGE:()=>Se,MAX_FAILURE_STACK:()=>tt,MAX_VALUE_BYTES:()=>_e,MOVES:()=>ke,NonRetryableError:()=>W,NotDoneError:()=>Q,OPEN_DELIVERY:()=>wn,PERMISSIONS:()=>at,PUBLICATIONS_BEFORE_ATTENTION:()=>cn,PUBLICATION_DELAYS:()=>Re,PUBLISHER_GRACE_SECONDS:()=>Ce,QUEUE_NAME:()=>gn,QueueSettings:()=>zo,RUN_FAILURE_CODES:()=>pn,RUN_MOVES:()=>st,RandomStream:()=>fe,SKIP_REASONS:()=>Bo,StepFailedError:()=>Y,TimingSettings:()=>Fo,UnserializableError:()=>$,callKey:()=>I,canMove:()=>ct,canonicalText:()=>an,decideSkip:()=>bn,delayAfterFailure:()=>jo,delayAfterPublication:()=>To,describeCall:()=>Ie,describeFailure:()=>k,diagram:()=>Wo,durationMs:()=>O,formatMessage:()=>Lo,idempotencyKeyOf:()=>pe,identityCodec:()=>Po,isDuration:()=>B,isRunId:()=>P,isTerminalRun:()=>kn,mayDo:()=>Mo,noFaults:()=>rn,notDone:()=>So,parseJson:()=>Ao,parseMessage:()=>qe,queueUrlVariable:()=>Uo,resolveBackoff:()=>fn,retryDelayMs:()=>he,serialize:()=>X,sha256:()=>S,sourcesOf:()=>Z,sqlStates:()=>b,statesOf:()=>A,terminalStatesOf:()=>be,wire:()=>En});import{createHash as nt}from"node:crypto";var xo=["step"];function I(n){return JSON.stringify([n.epoch,n.scope,n.kind,n.name,n.nth])}i(I,"callKey");function Ie(n){let e=n.nth===1?"":` (use ${n.nth})`,t=n.scope===""?"":` in ${n.scope}`;return`${n.kind} "${n.name}"${e}${t}`}i(Ie,"describeCall");function pe(n,e){return nt("sha256").update(`ghouls-step-1
${n}
${I(e)}`).digest("hex")}i(pe,"idempotencyKeyOf");var fe=class{static{i(this,"RandomStream")}#e;#n=0;constructor(e,t,r){this.#e=`ghouls-random-1
${JSON.stringify([e,t,r])}`}#t(){return this.#n+=1,nt("sha256").update(`${this.#e}
${this.#n}`).digest()}random(){return Number(this.#t().readBigUInt64BE()>>11n)/2**53}uuid(){let e=this.#t().subarray(0,16);e[6]=e[6]&15|64,e[8]=e[8]&63|128;let t=e.toString("hex");return`${t.slice(0,8)}-${t.slice(8,12)}-${t.slice(12,16)}-${t.slice(16,20)}-${t.slice(20)}`}};import{createHash as Eo}from"node:crypto";function S(n){return Eo("sha256").update(n,"utf8").digest("hex")}i(S,"sha256");var Io=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","wrong_transaction","configuration_invalid","schema_outdated","ledger_unavailable","outcome_unknown","queue_unavailable","internal"],p=class extends Error{static{i(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(e,t,r={}){super(t,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=e,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}},W=class extends Error{static{i(this,"NonRetryableError")}constructor(e,t){super(e,t),this.name="NonRetryableError"}},Q=class extends Error{static{i(this,"NotDoneError")}constructor(e){super(e instanceof Error?e.message:String(e),{cause:e}),this.name="NotDoneError"}};function So(n){return new Q(n)}i(So,"notDone");var Y=class extends Error{static{i(this,"StepFailedError")}step;tries;failure;constructor(e,t,r){super(`step "${e}" failed after ${t===1?"1 try":`${t} tries`}: ${r.message}`),this.name="StepFailedError",this.step=e,this.tries=t,this.failure=r}},Se=2e3,tt=6e3;function k(n){try{if(n instanceof Error){let t=typeof n.stack=="string"?ge(n.stack,tt):void 0;return{name:ge(String(n.name),200),message:ge(String(n.message),Se),...t===void 0?{}:{stack:t}}}if(typeof n=="string")return{name:"Error",message:ge(`a string was thrown: ${n}`,Se)};if(n==null)return{name:"Error",message:`${String(n)} was thrown, not an Error`};let e=JSON.stringify(n,(t,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:ge(`a value that is no Error was thrown: ${e??typeof n}`,Se)}}catch{return{name:"Error",message:`a value of type ${typeof n} that cannot be described was thrown`}}}i(k,"describeFailure");function ge(n,e){return n.length<=e?n.toWellFormed():`${n.slice(0,e).toWellFormed()}\u2026 (${n.length-e} more characters)`}i(ge,"bounded");var tn={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},vo=3650*tn.d;function B(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);return e===null?!1:Number(e[1])*tn[e[2]]<=vo}i(B,"isDuration");function O(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);if(e===null||!B(n))throw new p("configuration_invalid",`"${String(n).slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(e[1])*tn[e[2]]}i(O,"durationMs");var qo=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","queue.before-publish","queue.after-publish","queue.before-receive","queue.after-receive","queue.before-visibility","queue.after-visibility","queue.before-delete","queue.after-delete","admission.after-commit","admission.after-publish","worker.after-claim","worker.before-beat","worker.before-intent","worker.after-intent","worker.before-step","worker.after-step","worker.after-journal","worker.before-handover","worker.after-handover","worker.before-settle","worker.after-settle","relay.after-select","relay.after-publish","reanimation.after-select","reanimation.after-judgement","containment.after-select","containment.after-look"],rn=i(()=>{},"noFaults");var ye=100,Co=new Set(["__proto__","constructor","prototype"]),dn=JSON,Ro=JSON.parse;function Ao(n){if(Do(n)>ye)throw new p("malformed_json",`the document is nested more than ${ye} levels deep`,{fix:"Flatten the document, or send it as one string."});let e;try{e=Ro(n,(r,o,a)=>typeof o=="number"?dn.rawJSON(a.source??String(o)):o)}catch(r){throw new p("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let t=[];if(on(e,"",t),t.length>0)throw new p("invalid_request","the document holds values that cannot be kept unchanged",{issues:t,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(n),canonical:an(e),member:i(r=>{if(!(typeof e!="object"||e===null||!Object.hasOwn(e,r)))return an(e[r])},"member")}}i(Ao,"parseJson");function Do(n){let e=0,t=0,r=!1;for(let o=0;o<n.length;o+=1){let a=n.charCodeAt(o);r?a===92?o+=1:a===34&&(r=!1):a===34?r=!0:a===91||a===123?t=Math.max(t,e+=1):(a===93||a===125)&&(e-=1)}return t}i(Do,"nestingOf");function on(n,e,t){if(!(t.length>=20)){if(typeof n=="string"){let r=rt(n);r!==void 0&&t.push({path:e,message:r});return}if(!(typeof n!="object"||n===null)){if(dn.isRawJSON(n)){let r=Number(JSON.stringify(n));Math.abs(r)>Number.MAX_SAFE_INTEGER&&t.push({path:e,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(n)){n.forEach((r,o)=>on(r,`${e}/${o}`,t));return}for(let[r,o]of Object.entries(n)){let a=`${e}/${r.slice(0,100).toWellFormed()}`;Co.has(r)&&t.push({path:a,message:"this key is not allowed"});let s=rt(r);s!==void 0&&t.push({path:a,message:`the key: ${s}`}),on(o,a,t)}}}}i(on,"inspect");function rt(n){if(n.includes("\0"))return"text with a NUL character is not taken";if(!n.isWellFormed())return"text with a lone surrogate is not taken"}i(rt,"textProblem");function an(n){return JSON.stringify(sn(n))}i(an,"canonicalText");function sn(n){if(typeof n!="object"||n===null||dn.isRawJSON(n))return n;if(Array.isArray(n))return n.map(sn);let e=Object.entries(n).toSorted(([t],[r])=>t<r?-1:1);return Object.fromEntries(e.map(([t,r])=>[t,sn(r)]))}i(sn,"sorted");var $=class extends Error{static{i(this,"UnserializableError")}reason;constructor(e,t){super(t),this.name="UnserializableError",this.reason=e}},_e=1048576;function X(n,e=_e){if(n===void 0)return;let t;try{t=JSON.stringify(ve(n,"",[]))}catch(o){throw o instanceof $?o:new $("unserializable",`it cannot be turned into JSON: ${k(o).message.slice(0,500)}`)}let r=Buffer.byteLength(t);if(r>e)throw new $("too_large",`it is ${r} bytes of JSON, the limit is ${e}`);return t}i(X,"serialize");function ve(n,e,t){let r=e===""?"the value":`the value at ${e}`,o=i(d=>new $("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof n){case"string":case"boolean":return n;case"number":if(!Number.isFinite(n))throw o(String(n));return n;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof n}`);case"object":}if(n===null)return null;if(t.includes(n))throw o("a cycle");if(t.length>ye)throw o(`nested more than ${ye} levels deep`);let a=[...t,n];if(n instanceof Date&&Number.isNaN(n.getTime()))throw o("an invalid Date");if("toJSON"in n&&typeof n.toJSON=="function"){let d=n.toJSON("");if(d===n)throw o("a cycle of toJSON");return ve(d,e,a)}if(Array.isArray(n))return Array.from(n,(d,l)=>ve(d,`${e}/${l}`,a));if(!$o(n))throw o(`a ${n.constructor?.name??"class instance"}`);let s={};for(let[d,l]of Object.entries(n))l!==void 0&&Object.defineProperty(s,d,{value:ve(l,`${e}/${d.slice(0,100)}`,a),enumerable:!0,configurable:!0,writable:!0});return s}i(ve,"plain");function $o(n){let e=Object.getPrototypeOf(n);return e===null||e===Object.prototype?!0:Object.getPrototypeOf(e)===null&&n.constructor?.name==="Object"}i($o,"isPlainObject");var ot="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",No=new RegExp(`^${ot}$`),Oo=new RegExp(`^run:(${ot}):([1-9]\\d{0,8})$`);function P(n){return No.test(n)}i(P,"isRunId");function Lo(n){return`run:${n.runId}:${n.enqueueSeq}`}i(Lo,"formatMessage");function qe(n){let e=Oo.exec(n);if(e!==null)return{runId:e[1],enqueueSeq:Number(e[2])}}i(qe,"parseMessage");var Po={encode:i(n=>Promise.resolve(n),"encode"),decode:i(n=>Promise.resolve(n),"decode")};var at=["runs:admit","runs:release","runs:cancel","runs:resolve","runs:read","workflows:read"],it={operator:at,submitter:["runs:admit","runs:release","runs:cancel","runs:read","workflows:read"],decider:["runs:read","workflows:read"]};function Mo(n,e){return n.roles.some(t=>Object.hasOwn(it,t)&&it[t]?.includes(e))}i(Mo,"mayDo");var Ce=15,un=[60,120,300,600,1800,3600],ln=[5,10,30,60,120,300],cn=5;function To(n){return un[Math.min(Math.max(n,1),un.length)-1]}i(To,"delayAfterPublication");function jo(n){return ln[Math.min(Math.max(n,1),ln.length)-1]}i(jo,"delayAfterFailure");var Re={afterSuccess:un,afterFailure:ln};var mn=1e4;function fn(n={}){let e={initialMs:O(n.initial??"200ms"),factor:n.factor??2,maxMs:O(n.max??"10s")};if(!(e.factor>=1&&e.factor<=100))throw new p("configuration_invalid",`a backoff factor of ${String(n.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});if(e.maxMs>mn||e.initialMs>mn)throw new p("configuration_invalid","a delay above 10 s between two tries is not supported yet",{fix:'Use delays up to "10s": a longer wait has to park the run, and this version has no parks.'});return e}i(fn,"resolveBackoff");function he(n,e,t){let r=Math.min(n.maxMs,n.initialMs*n.factor**(e-2));return Math.round(r/2+r/2*t)}i(he,"retryDelayMs");var pn=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time","no_progress","ghoul_lost","effect_unknown"];import*as F from"zod";var Ae=F.string().refine(n=>B(n),'write a whole number and a unit, such as "90s" or "15m"'),gn=/^[a-z][a-z0-9-]{0,31}$/,zo=F.strictObject({batchSize:F.int().min(1).max(10).default(5),concurrency:F.int().min(1).max(1e3).default(2),functionTimeout:Ae.refine(n=>!B(n)||O(n)>=5e3&&O(n)<=432e5,'from "5s" to "12h"').default("15m")}),Fo=F.strictObject({lease:Ae.default("120s"),beat:Ae.default("30s"),actsMargin:Ae.default("60s"),maxLosses:F.int().min(1).max(100).default(3)}),Go={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:1}},yn="runs";function Uo(n){return`GHOULS_QUEUE_${n.toUpperCase().replaceAll("-","_")}_URL`}i(Uo,"queueUrlVariable");var we=["QUEUED","FAILING","CANCELLING"],st={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:we,AWAITING_DELEGATE:we,AWAITING_CHILD:we,AWAITING_SIGNAL:we,AWAITING_TIMER:we,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},dt={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},De=["SUCCEEDED","FAILED","CANCELLED"],ut={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...De,"UNCERTAIN"],SUBMITTED:["RUNNING",...De,"UNCERTAIN"],RUNNING:[...De,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...De],SUCCEEDED:[],FAILED:[],CANCELLED:[]},lt={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},ke={run:st,delivery:dt,attempt:ut,consent:lt},_n=["done","failed","parked","continued","lost","given_back","refused"],hn=["admitted","resumed","continued","recovered","contain"];function A(n){return Object.keys(ke[n])}i(A,"statesOf");function ct(n,e,t){return ke[n][e]?.includes(t)??!1}i(ct,"canMove");function Z(n,e){return A(n).filter(t=>ct(n,t,e))}i(Z,"sourcesOf");function be(n){return A(n).filter(e=>(ke[n][e]??[]).length===0)}i(be,"terminalStatesOf");var wn=A("delivery").filter(n=>!be("delivery").includes(n));function kn(n){return be("run").includes(n)}i(kn,"isTerminalRun");function b(n){for(let e of n)if(!/^[A-Z_]+$/.test(e))throw new TypeError(`not a state: ${e}`);return n.map(e=>`'${e}'`).join(", ")}i(b,"sqlStates");function Wo(n){let e=Object.entries(ke[n]).flatMap(([t,r])=>r.length===0?[`    ${t} --> [*]`]:r.map(o=>`    ${t} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${A(n)[0]}`,...e].join(`
`)}i(Wo,"diagram");var Bo=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],Ko=43e3,ee=i(n=>({reason:n,deleteMessage:!0,retryInSeconds:0}),"gone"),ne=i((n,e)=>({reason:n,deleteMessage:!1,retryInSeconds:Math.min(Ko,Math.max(1,Math.ceil(e)))}),"back");function bn(n){return n===void 0?ne("unknown",30):kn(n.runStatus)?ee("terminal"):n.deliveryStatus==="SETTLED"?ee("settled"):n.deliveryStatus==="FENCED"?ee("fenced"):n.seq<n.currentSeq?ee("superseded"):n.deliveryStatus==="CLAIMED"?ne("claimed",Math.max(5,n.leaseEndsInSeconds??30)):n.deliveryStatus==="HELD"?ne("held",30):n.quarantined?ee("quarantined"):n.paused?ee("paused"):n.runStatus!=="QUEUED"&&n.cause!=="contain"?ne("ending",30):n.dueInSeconds>0?ne("early",n.dueInSeconds):ne("contended",2)}i(bn,"decideSkip");var En={};Ee(En,{Admitted:()=>ht,BatchAdmitted:()=>Yo,BatchItem:()=>_t,BatchOutcome:()=>wt,BatchRequest:()=>Qo,Cancelled:()=>ei,ContainmentItem:()=>bt,IdempotencyKey:()=>gt,MAX_BATCH:()=>ft,MAX_BODY_BYTES:()=>Ho,MAX_PAGE:()=>Jo,Problem:()=>ai,ReasonRequest:()=>Zo,Released:()=>Xo,Resolved:()=>ni,RunError:()=>kt,RunPage:()=>ri,RunRequest:()=>yt,RunSummary:()=>xn,RunView:()=>ti,Timeline:()=>oi,TimelineEntry:()=>xt,WORKFLOW_NAME:()=>pt,WorkflowList:()=>ii,WorkflowRef:()=>$e,WorkflowView:()=>Et});import*as u from"zod";var Ho=1048576,ft=100,Jo=200,x=u.iso.datetime(),pt=/^[a-z0-9][a-z0-9._-]{0,99}$/i,Vo=u.string().regex(pt,'letters, digits, ".", "_" and "-", at most 100'),gt=u.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),yt=u.strictObject({workflow:Vo.optional(),version:u.int().min(1).max(1e6).optional(),input:u.unknown().optional(),queue:u.string().regex(gn).optional(),priority:u.int().min(0).max(9).optional(),agent:u.string().min(1).max(200).optional(),held:u.boolean().optional(),holdFor:u.string().refine(B,'such as "10m"').optional()}),_t=yt.extend({idempotencyKey:gt.optional()}),Qo=u.strictObject({runs:u.array(_t).min(1).max(ft)}),$e=u.object({name:u.string(),version:u.int(),digest:u.string()}),ht=u.object({runId:u.string(),created:u.boolean(),status:u.enum(A("run")),enqueueSeq:u.int(),workflow:$e,queue:u.string(),priority:u.int(),held:u.boolean()}),wt=u.discriminatedUnion("outcome",[u.object({outcome:u.literal("admitted"),run:ht}),u.object({outcome:u.literal("conflict"),idempotencyKey:u.string(),detail:u.string()})]),Yo=u.object({runs:u.array(wt)}),Xo=u.object({runId:u.string(),enqueueSeq:u.int(),released:u.boolean()}),mt=u.object({reason:u.string(),at:x}),xn=u.object({runId:u.string(),workflow:$e,status:u.enum(A("run")),queue:u.string(),priority:u.int(),agent:u.string().nullable(),idempotencyKey:u.string().nullable(),requestedBy:u.string(),enqueueSeq:u.int(),steps:u.int(),errorCode:u.string().nullable(),attention:mt.nullable(),quarantine:mt.nullable(),pausedAt:x.nullable(),deadlineAt:x.nullable(),createdAt:x,startedAt:x.nullable(),finishedAt:x.nullable()}),kt=u.object({code:u.enum(pn),name:u.string(),message:u.string(),stack:u.string().optional(),step:u.string().optional()}),bt=u.object({id:u.string(),kind:u.enum(["worker","effect"]),subject:u.string(),enqueueSeq:u.int(),overAt:x.nullable(),createdAt:x,acknowledgedAt:x.nullable(),acknowledgedBy:u.string().nullable(),acknowledgement:u.string().nullable()}),Zo=u.strictObject({reason:u.string().trim().min(1).max(1e3)}),ei=u.object({runId:u.string(),cancelled:u.boolean(),status:u.enum(A("run"))}),ni=u.object({runId:u.string(),item:u.string(),openItems:u.int(),status:u.enum(A("run"))}),ti=xn.extend({input:u.unknown(),output:u.unknown(),error:kt.nullable(),containment:u.array(bt)}),ri=u.object({runs:u.array(xn),nextCursor:u.string().nullable()}),xt=u.discriminatedUnion("kind",[u.object({kind:u.literal("admitted"),at:x}),u.object({kind:u.literal("delivery"),at:x,enqueueSeq:u.int(),cause:u.enum(hn),status:u.enum(A("delivery")),dueAt:x}),u.object({kind:u.literal("published"),at:x,enqueueSeq:u.int(),publications:u.int()}),u.object({kind:u.literal("claimed"),at:x,enqueueSeq:u.int(),worker:u.string()}),u.object({kind:u.literal("step"),at:x,enqueueSeq:u.int(),ordinal:u.int(),name:u.string(),nth:u.int(),outcome:u.enum(["ok","error"]),tries:u.int(),startedAt:x}),u.object({kind:u.literal("worker_ended"),at:x,enqueueSeq:u.int(),worker:u.string(),how:u.string()}),u.object({kind:u.literal("settled"),at:x,enqueueSeq:u.int(),outcome:u.enum(_n)}),u.object({kind:u.literal("fenced"),at:x,enqueueSeq:u.int()}),u.object({kind:u.literal("finished"),at:x,status:u.enum(A("run")),errorCode:u.string().nullable()})]),oi=u.object({runId:u.string(),status:u.enum(A("run")),entries:u.array(xt)}),Et=$e.extend({queue:u.string(),onWorkerLoss:u.enum(["resume","fail"]),inputSchema:u.unknown(),outputSchema:u.unknown()}),ii=u.object({workflows:u.array(Et)}),ai=u.object({type:u.string(),title:u.string(),status:u.int(),detail:u.string(),fix:u.string().optional(),requestId:u.string(),errors:u.array(u.object({path:u.string(),message:u.string()})).optional()});var Pr={};Ee(Pr,{DEFAULT_APPLICATION_ROLE:()=>On,DEFAULT_SCHEMA:()=>te,LedgerError:()=>E,createRoles:()=>Lr,executorOn:()=>Oe,inCallersTransaction:()=>Le,insertRunsIfKeyIsNew:()=>oe,migrate:()=>Nr,migrationSql:()=>$r,openLedger:()=>Cr,readRunsById:()=>Ne,readRunsByKey:()=>ie,rolesSql:()=>Pn});var St=new Map,te="ghouls",si=/^[a-z_][a-z0-9_]{0,39}$/;function _(n,e){return vt({name:n,text:qt(n,e),writes:!1})}i(_,"readStatement");function g(n,e){return vt({name:n,text:qt(n,e),writes:!0})}i(g,"writeStatement");function vt(n){if(St.has(n.name))throw new TypeError(`two statements are called ${n.name}`);return St.set(n.name,n),n}i(vt,"listed");function qt(n,e){return`/* ${n} */
${e.trim()}`}i(qt,"tagged");function re(n,e){if(!si.test(n))throw new TypeError(`${e} "${n.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}i(re,"assertIdentifier");function K(n,e){return re(e,"the schema name"),n.replace(/\bghouls\./g,`${e}.`)}i(K,"bindSchema");function y(n){let e=i((s,d)=>new TypeError(`column ${s} is ${typeof n[s]}, ${d} was expected`),"fail"),t=i(s=>{let d=n[s];if(typeof d!="string")throw e(s,"text");return d},"text"),r=i(s=>{let d=n[s],l=typeof d=="string"?Number(d):d;if(typeof l!="number"||!Number.isFinite(l))throw e(s,"a number");return l},"number"),o=i(s=>{let d=n[s];if(!(d instanceof Date))throw e(s,"a time");return d},"date"),a=i(s=>d=>n[d]===null?null:s(d),"orNull");return{text:t,textOrNull:a(t),number:r,numberOrNull:a(r),boolean:i(s=>{let d=n[s];if(typeof d!="boolean")throw e(s,"a boolean");return d},"boolean"),date:o,dateOrNull:a(o)}}i(y,"rows");var di=g("runs.admit",`
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
select run_id from delivery`),Ct=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished`,ui=_("runs.by-key",`
select ${Ct}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),li=_("runs.by-id",`
select ${Ct}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function oe(n,e,t){let r=i(a=>e.map(a),"column"),o=await n.run(di,[String(t.lockTimeoutMs),r(a=>a.tenantId),r(a=>a.runId),r(a=>a.idempotencyKey),r(a=>a.requestDigest),r(a=>a.workflow.name),r(a=>a.workflow.version),r(a=>a.workflow.digest),r(a=>a.queue),r(a=>a.priority),r(a=>a.agent),r(a=>a.requestedBy),r(a=>JSON.stringify(a.requestedRoles)),r(a=>a.inputText),r(a=>a.inputDigest),r(a=>a.deadlineMs),r(a=>a.held),r(a=>a.holdMs),t.publisherGraceSeconds,r(a=>a.onWorkerLoss)]);return new Set(o.map(a=>a.run_id))}i(oe,"insertRunsIfKeyIsNew");async function ie(n,e){return(await n.run(ui,[e.map(r=>r.tenantId),e.map(r=>r.idempotencyKey)])).map(Rt)}i(ie,"readRunsByKey");async function Ne(n,e){return(await n.run(li,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(Rt)}i(Ne,"readRunsById");function Rt(n){let e=y(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),requestDigest:e.text("request_digest"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),held:e.boolean("held"),unpublished:e.boolean("unpublished")}}i(Rt,"admittedRun");var ci=g("deliveries.release",`
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
returning d.run_id`);async function At(n,e,t){return(await n.run(ci,[e.tenantId,e.runId,t])).length===1}i(At,"releaseDeliveryIfHeld");var fi={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},Dt={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."},E=class extends p{static{i(this,"LedgerError")}kind;sqlState;statement;constructor(e,t,r,o){super(fi[e],`the ledger could not carry out ${t} (${e}${r?`, SQLSTATE ${r}`:""})`,{...Dt[e]===void 0?{}:{fix:Dt[e]},...e==="defect"||e==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=e,this.sqlState=r,this.statement=t}},pi=new Set(["40001","40P01"]),gi=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),yi=new Set(["42P01","42703","42883","3F000"]);function H(n,e){let t=_i(n);return t===void 0?{kind:e?"unknown":"unavailable",sqlState:t}:pi.has(t)?{kind:"retry",sqlState:t}:t==="55P03"?{kind:"busy",sqlState:t}:gi.has(t)?{kind:"unavailable",sqlState:t}:t.startsWith("57P")||t.startsWith("08")?{kind:e?"unknown":"unavailable",sqlState:t}:yi.has(t)?{kind:"schema",sqlState:t}:{kind:"defect",sqlState:t}}i(H,"classify");function _i(n){if(typeof n!="object"||n===null||!("code"in n))return;let{code:e}=n;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:void 0}i(_i,"sqlStateOf");var hi=_("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),wi=g("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function Oe(n,e){return{run:i(async(t,r)=>{try{return(await n.query(K(t.text,e),[...r])).rows}catch(o){let{kind:a,sqlState:s}=H(o,!1);throw new E(a,t.name,s,o)}},"run")}}i(Oe,"executorOn");async function Le(n,e){let[t]=await n.run(hi,[]),r=String(t?.isolation);if(r!=="read committed")throw new p("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(t?.begins_transaction===!0)throw new p("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await e();return await n.run(wi,[String(t?.lock_timeout)]),o}i(Le,"inCallersTransaction");import ki from"pg";var bi=4,Pe=class{static{i(this,"Database")}schema;#e;#n;#t;#r;#i=new Map;constructor(e){this.schema=e.schema??te,K("",this.schema),this.#n=e.preparedStatements??!0,this.#t=e.faults??rn,this.#r=e.chance??(()=>.5),this.#e=new ki.Pool({connectionString:e.connectionString,max:e.maxConnections??2,connectionTimeoutMillis:e.connectTimeoutMs??5e3,query_timeout:e.answerTimeoutMs??2e4,idleTimeoutMillis:3e4,allowExitOnIdle:!0,application_name:e.applicationName??"ghouls"}),this.#e.on("connect",t=>t.on("error",()=>{})),this.#e.on("error",()=>{})}async run(e,t){let r=!1;for(let o=1;;o+=1)try{return await this.#u(e,t)}catch(a){if(r||=a instanceof E&&a.kind==="unknown",!(a instanceof E)||!xi(a)||o>=Ei(a))throw r&&a instanceof E&&a.kind!=="unknown"?new E("unknown",e.name,a.sqlState,a):a;await Ii(25*4**(o-1)*(.5+this.#r()))}}async#u(e,t){let r=await this.#o(e.name),o=!0;try{let a=await this.#a(r,e,t);return o=!1,a}catch(a){throw o=!(a instanceof E)||a.sqlState===void 0,a}finally{r.release(o)}}async#o(e){try{return await this.#e.connect()}catch(t){throw new E("unavailable",e,H(t,!1).sqlState,t)}}async#a(e,t,r){try{await this.#t("ledger.before-statement",t.name);let o=await e.query({text:this.#c(t),values:[...r],...this.#n?{name:t.name}:{}});return await this.#t("ledger.after-statement",t.name),o.rows}catch(o){let{kind:a,sqlState:s}=H(o,t.writes);throw new E(a,t.name,s,o)}}#c(e){let t=this.#i.get(e.name);return t===void 0&&(t=K(e.text,this.schema),this.#i.set(e.name,t)),t}async transaction(e,t){let r=await this.#o(e),o=!0;try{await this.#s(r,e);let a=await t({run:i((s,d)=>this.#a(r,s,d),"run")});return await this.#m(r,e),o=!1,a}catch(a){throw o=a instanceof E&&a.sqlState===void 0||await r.query("rollback").then(()=>!1,()=>!0),a}finally{r.release(o)}}async#s(e,t){try{await e.query("begin isolation level read committed")}catch(r){let{kind:o,sqlState:a}=H(r,!1);throw new E(o,`${t}: begin`,a,r)}}async#m(e,t){let r;try{await this.#t("ledger.before-commit",t),r=(await e.query("commit")).command,await this.#t("ledger.after-commit",t)}catch(o){let{kind:a,sqlState:s}=H(o,!0);throw new E(a,`${t}: commit`,s,o)}if(r!=="COMMIT")throw new E("defect",`${t}: commit answered ${r}`,void 0,void 0)}async close(){await this.#e.end()}};function xi(n){return n.kind!=="defect"&&n.kind!=="schema"&&n.kind!=="busy"}i(xi,"isRepeatable");function Ei(n){return n.cause instanceof Error&&/read timeout/i.test(n.cause.message)||n.sqlState==="57014"?2:bi}i(Ei,"triesOf");function Ii(n){return new Promise(e=>setTimeout(e,n))}i(Ii,"delay");var $t={number:1,name:"runs",sql:`
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
`};var Nt={number:2,name:"containment",sql:`
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
`};var Ot={number:3,name:"doctor",sql:`
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
`};var ae=[$t,Nt,Ot];var Si=[M("open deliveries agree with their run","doctor_open_deliveries"),M("working runs have an open delivery","doctor_working_runs"),M("terminal runs have nothing open","doctor_terminal_runs"),M("pending deliveries have a next publication","doctor_pending_deliveries"),M("journals are as long as their runs say","doctor_journals"),M("runs know how many items are open","doctor_open_items"),M("ending runs have something left to contain","doctor_endings"),M("no lost claim waits for its judgement","doctor_lost_claims"),M("no run is quarantined","doctor_quarantined_runs"),M("no open run asks for a person","doctor_runs_with_attention")];function M(n,e){return{check:n,statement:_(e.replace("_",".").replaceAll("_","-"),`select * from ghouls.${e}
limit 100`)}}i(M,"view");var vi=_("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function In(n){let[e]=await n.run(vi,[]);return{applied:Number(e?.version??0),known:ae.at(-1)?.number??0}}i(In,"readSchemaVersion");async function Lt(n){let e=await In(n),t=[{check:"the schema is up to date",ok:e.applied===e.known,rows:e.applied===e.known?[]:[e]}];for(let{check:r,statement:o}of Si){let a=await n.run(o,[]);t.push({check:r,ok:a.length===0,rows:a})}return t}i(Lt,"examine");var G="json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";var qi=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function N(n){return`${qi}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${b(n)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}i(N,"heldBy");var L=["RUNNING","AWAITING_HARDWARE"];function Sn(n,e){return Mt(n,Z("run",e))}i(Sn,"runMayBecome");function Pt(n,e){return Mt(n,Z("delivery",e))}i(Pt,"deliveryMayBecome");function Mt(n,e){return e.length===0?"false":`${n} in (${b(e)})`}i(Mt,"oneOf");var R=["COMPLETING","FAILING","CANCELLING"];var Ci=_("runs.lock",`
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`);async function T(n,e){let t=await n.run(Ci,[e.map(r=>r.tenantId),e.map(r=>r.runId)]);return new Map(t.map(r=>[y(r).text("run_id"),y(r).text("status")]))}i(T,"lockRuns");var Ri=g("runs.end-if-contained",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${b(R)}) and run.open_items = 0
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
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${b(wn.filter(n=>n!=="CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0
returning run.status`);async function U(n,e){let[t]=await n.run(Ri,[e.tenantId,e.runId]);return t===void 0?null:y(t).text("status")}i(U,"endRunIfContained");var Ai=g("deliveries.yield",`
with ${N(L)}, settled as (
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
returning seq, queue`),Di=g("deliveries.give-back",`
with ${N(L)}, settled as (
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
returning seq, queue`),$i=g("deliveries.due-now",`
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
returning d.seq`),Ni=_("deliveries.handed-over",`
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`),Oi=_("checkpoints.read",`
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`);async function Tt(n,e,t,r){let{workflowDigest:o,journalLength:a,journalDigest:s}=t,[d]=await n.run(Ai,[...qn(e),o,a,s,r.idle,r.publisherGraceSeconds]);return d===void 0?Ft(n,e,"continued"):vn(d)}i(Tt,"yieldDeliveryIfClaimed");async function jt(n,e,t){let[r]=await n.run(Di,[...qn(e),t]);return r===void 0?Ft(n,e,"given_back"):vn(r)}i(jt,"giveDeliveryBackIfClaimed");async function zt(n,e,t){let[r]=await n.run(Oi,[e.tenantId,e.runId,t]);if(r===void 0)return null;let o=y(r);return{workflowDigest:o.text("workflow_digest"),journalLength:o.number("journal_length"),journalDigest:o.text("journal_digest")}}i(zt,"readCheckpoint");async function Ft(n,e,t){let[r]=await n.run(Ni,[...qn(e),t]);return r===void 0?null:vn(r)}i(Ft,"handedOver");function vn(n){return{enqueueSeq:y(n).number("seq"),queue:y(n).text("queue")}}i(vn,"nextOf");function qn(n){return[n.tenantId,n.runId,n.seq,n.token]}i(qn,"keyOf");async function Me(n,e){await n.run($i,[e.tenantId,e.runId])}i(Me,"makeGivenBackDue");var Pi=g("items.acknowledge",`
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
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${G} = a.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
returning run.open_items`),Mi=g("audit.record",`
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),Ti=_("deliveries.holds",`
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`),ji=g("deliveries.over-now",`
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`);async function Cn(n,e,t,r){return n.transaction("items.acknowledge",async o=>{await T(o,[e]);let{kind:a,key:s,by:d,words:l,token:c,under:m}=t;if(m!==void 0&&(await o.run(Ti,[m.tenantId,m.runId,m.seq,m.token])).length===0)return null;let[f]=await o.run(Pi,[e.tenantId,e.runId,a,s,d,l,c??null]);if(f===void 0)return null;if(a==="worker"&&await Me(o,e),r!==void 0){let w=`${a} ${s}`;await o.run(Mi,[e.tenantId,e.runId,r.actor,"resolve",w,r.reason])}return{openItems:y(f).number("open_items"),ended:await U(o,e)}})}i(Cn,"acknowledgeItem");async function Gt(n,e){let t=await Cn(n,e,{kind:"worker",key:String(e.seq),by:"worker",words:"its worker ended the hop: no step is in flight",token:e.token});return t!==null?t:(await n.run(ji,[e.tenantId,e.runId,e.seq,e.token]),null)}i(Gt,"acknowledgeWorker");var Fi=g("deliveries.beat",`
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
returning d.run_id, d.seq`);async function Ut(n,e,t){let r=await n.run(Fi,[e.map(o=>o.tenantId),e.map(o=>o.runId),e.map(o=>o.seq),e.map(o=>o.token),t]);return new Set(r.map(o=>`${y(o).text("run_id")}:${y(o).number("seq")}`))}i(Ut,"beatIfClaimed");var Ui=g("runs.cancel",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${b(Z("run","CANCELLING"))})
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
  select i.tenant_id, i.run_id, 'effect', ${G}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
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
returning run.status`);async function Wt(n,e,t,r){return n.transaction("runs.cancel",async o=>{let a=(await T(o,[e])).get(e.runId);if(a===void 0)return null;let[s]=await o.run(Ui,[e.tenantId,e.runId,t.actor,t.reason,r]);return s===void 0?{cancelled:!1,status:a}:{cancelled:!0,status:await U(o,e)??y(s).text("status")}})}i(Wt,"cancelRun");var Bi=g("evidence.reject",`
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6, $7, $8, ghouls.clock()
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`);async function Bt(n,e,t){let{call:r,outcome:o,bodyText:a,bodyDigest:s}=t;await n.run(Bi,[e.tenantId,e.runId,e.seq,e.token,r,o,a,s])}i(Bt,"recordRejectedResult");var Hi=g("intents.open",`
with ${N(L)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`),Ji=_("intents.of-call",`
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`),Vi=g("intents.close",`
with ${N(L)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`),Qi=_("intents.open-of-run",`
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`),Yi=_("intents.last-numbers",`
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`);function Rn(n){return[n.epoch,n.scope,n.kind,n.name,n.nth]}i(Rn,"callOf");async function Kt(n,e,t,r){return(await n.run(Hi,[e.tenantId,e.runId,e.seq,e.token,...Rn(t),r])).length===1?!0:(await n.run(Ji,[e.tenantId,e.runId,...Rn(t),r,e.token])).length===1}i(Kt,"openIntentIfClaimed");async function Ht(n,e,t,r,o){let a=[e.tenantId,e.runId,e.seq,e.token];return(await n.run(Vi,[...a,...Rn(t),r,o])).length===1}i(Ht,"closeIntentIfClaimed");async function Jt(n,e){return(await n.run(Qi,[e.tenantId,e.runId])).map(r=>{let o=y(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),seq:o.number("seq"),token:o.text("token"),over:r.over===!0,overAt:o.dateOrNull("over_at")}})}i(Jt,"readOpenIntents");async function Vt(n,e){return(await n.run(Yi,[e.tenantId,e.runId])).map(r=>{let o=y(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),tries:o.number("tries")}})}i(Vt,"readLastIntents");var Zi=_("items.of-run",`
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`),ea=_("items.due",`
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
  where run.status in (${b(R)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
  order by run.created_at
  limit $1)
) as i
group by i.tenant_id, i.run_id
order by min(i.next_look_at)`),na=g("items.acknowledge-over",`
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
returning run.open_items`),ta=g("items.look-later",`
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
  end as needs_word`),ra=g("deliveries.contain",`
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${b(R)})
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
returning seq`);async function Qt(n,e){return(await n.run(Zi,[e.tenantId,e.runId])).map(r=>{let o=y(r);return{kind:o.text("kind"),key:o.text("key"),seq:o.number("seq"),worker:o.text("worker"),overAt:o.dateOrNull("over_at"),createdAt:o.date("created_at"),tries:o.number("tries"),lastError:o.textOrNull("last_error"),acknowledgedAt:o.dateOrNull("acknowledged_at"),acknowledgedBy:o.textOrNull("acknowledged_by"),acknowledgement:o.textOrNull("acknowledgement")}})}i(Qt,"readItems");async function Yt(n,e){return(await n.run(ea,[e])).map(r=>({tenantId:y(r).text("tenant_id"),runId:y(r).text("run_id")}))}i(Yt,"readDueItems");async function Xt(n,e,t){let r=[e.tenantId,e.runId];return n.transaction("items.contain",async o=>{await T(o,[e]),(await o.run(na,r)).length>0&&await Me(o,e);let a=await U(o,e);if(a!==null)return{ended:a,contain:!1,needsWord:!1};let s=await o.run(ra,[...r,t]),d=await o.run(ta,[...r,t]);return{ended:a,contain:s.length===1,needsWord:s.length===0&&d.some(l=>l.needs_word===!0)}})}i(Xt,"containRun");var ia=_("deliveries.lapsed",`
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() and ($2::uuid[] is null or d.run_id = any($2::uuid[]))
order by d.lease_until
limit $1`),aa=g("deliveries.settle-lost",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${b(R)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${b(R)})
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
  select i.tenant_id, i.run_id, ${G} as key, i.seq, i.token, lost.claimed_by
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
left join next on next.run_id = moved.run_id`);async function Zt(n,e,t=null){return(await n.run(ia,[e,t])).map(o=>{let a=y(o);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),seq:a.number("seq"),token:a.text("token"),worker:a.text("claimed_by"),runStatus:a.text("status"),onWorkerLoss:a.text("on_worker_loss"),losses:a.number("losses")}})}i(Zt,"readLapsedClaims");async function er(n,e,t){return e.length===0?[]:n.transaction("deliveries.settle-lost",async r=>(await T(r,e),(await r.run(aa,[e.map(a=>a.tenantId),e.map(a=>a.runId),e.map(a=>a.seq),e.map(a=>a.token),e.map(a=>a.errorText),e.map(a=>a.errorDigest),t.maxLosses,t.actsMarginSeconds,t.publisherGraceSeconds])).map(a=>{let s=y(a);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),status:s.text("status"),enqueueSeq:s.number("enqueue_seq"),queue:s.text("queue")}})))}i(er,"settleLostClaims");var tr="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation",An=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at,
  run.deadline_at, run.idle_yields, run.open_items`,da=g("deliveries.claim",`
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
      or (d.cause = 'contain' and r.status in (${b(R)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${Pt("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
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
  returning run.tenant_id, run.run_id, ${An}
)
select ${tr}, ${An}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),ua=_("deliveries.claimed-by-token",`
select ${tr}, ${An}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),la=_("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  run.paused_at is not null as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function rr(n,e,t){let r=ir(e),o=e.map(d=>d.token),a=await n.run(da,[...r,o,t.worker,t.leaseSeconds,t.actsForSeconds]);return a.length===e.length?a.map(nr):(await n.run(ua,[...r,o])).map(nr)}i(rr,"claimDeliveriesIfDue");async function or(n,e){let t=await n.run(la,ir(e));return new Map(t.map(r=>{let o=y(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}i(or,"readUnclaimed");function ir(n){return[n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}i(ir,"arrays");function nr(n){let e=y(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),seq:e.number("seq"),token:e.text("token"),cause:e.text("cause"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},firstRunId:e.text("first_run_id"),queue:e.text("queue"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),inputText:e.text("input_text"),inputDigest:e.text("input_digest"),journalLength:e.number("journal_length"),journalBytes:e.number("journal_bytes"),admittedAt:e.date("created_at"),deadlineAt:e.dateOrNull("deadline_at"),checkpointGeneration:e.numberOrNull("checkpoint_generation"),idleYields:e.number("idle_yields"),claimedAt:e.date("claimed_at"),actsUntil:e.dateOrNull("acts_until")}}i(nr,"claimedRun");var ca=g("deliveries.record-worker-end",`
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
returning d.run_id`),ma=g("items.record-worker-end",`
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
returning i.run_id`);async function ar(n,e){let t=await n.run(ca,[e.worker,e.how]);return await n.run(ma,[e.worker,e.actsMarginSeconds??fa]),t.length}i(ar,"recordWorkerEnd");var fa=60;var ga=g("journal.append",`
with ${N(L)}, entry as (
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
  and (select count(*) from effect) >= 0`),ya=_("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_digest
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),_a=_("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2
order by j.ordinal`);async function dr(n,e,t){let r=[t.epoch,t.scope,t.kind,t.name,t.nth],[o]=await n.run(ga,[e.tenantId,e.runId,e.seq,e.token,...r,t.outcome,t.resultText,t.resultDigest,t.tries,t.tookMs,t.resultBytes,t.closesIntent??!1]);if(o!==void 0)return sr(o);let[a]=await n.run(ya,[e.tenantId,e.runId,...r]);return a!==void 0&&a.token===e.token&&a.outcome===t.outcome&&a.result_digest===t.resultDigest?sr(a):null}i(dr,"appendEntryIfClaimed");function sr(n){let e=y(n);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}i(sr,"appended");async function ur(n,e){return(await n.run(_a,[e.tenantId,e.runId])).map(r=>{let o=y(r);return{ordinal:o.number("ordinal"),epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),outcome:o.text("outcome"),resultText:o.textOrNull("result_text"),resultDigest:o.textOrNull("result_digest"),tries:o.number("tries"),seq:o.number("seq"),token:o.text("token"),startedAt:o.date("started_at"),completedAt:o.date("completed_at")}})}i(ur,"readJournal");var wa=_("deliveries.due-publications",`
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
      or (d.cause = 'contain' and run.status in (${b(R)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`),ka=g("deliveries.mark-published",`
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
returning d.run_id`),ba=g("deliveries.mark-publication-failed",`
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
returning d.run_id, d.publication_failures`);async function lr(n,e){return(await n.run(wa,[e])).map(r=>{let o=y(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications")}})}i(lr,"readDuePublications");async function cr(n,e,t=Re.afterSuccess){return e.length===0?0:(await n.run(ka,[...fr(e),t])).length}i(cr,"markPublished");async function mr(n,e,t=Re.afterFailure){if(e.length===0)return 0;let r=e.map(a=>a.publication),o=e.map(a=>a.reason.slice(0,500).replaceAll("\0",""));return(await n.run(ba,[...fr(r),t,o])).length}i(mr,"markPublicationFailed");function fr(n){return[n.map(e=>e.tenantId),n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}i(fr,"arrays");var yr=`run.tenant_id, run.run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.deadline_at,
  run.created_at, run.started_at, run.finished_at`,Ea=_("runs.get",`
select ${yr}, run.input_text, run.output_text, run.error_text
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),_r=`
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`,$n=`
order by run.created_at desc, run.run_id desc
limit $4`,hr=`${yr}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,Dn=i((n,e)=>_(`runs.page-${n}`,`
select ${hr}
from ghouls.runs run${_r}
  ${e}${$n}`),"page"),pr=i((n,e)=>_(`runs.page-${n}`,`
select ${hr}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${_r}
  and run.status = wanted.status ${e}${$n}
) as run${$n}`),"pageOfStatuses"),xe={all:Dn("all",""),status:pr("status",""),workflow:Dn("workflow","and run.workflow_name = $5"),both:pr("status-workflow","and run.workflow_name = $6"),attention:Dn("attention","and (run.attention_at is not null or run.quarantined_at is not null)")},Ia=_("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function wr(n,e){let[t]=await n.run(Ea,[e.tenantId,e.runId]);if(t===void 0)return null;let r=y(t);return{...xr(r),inputText:r.textOrNull("input_text"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text")}}i(wr,"readRun");async function kr(n,e,t,r){let[o,a]=r.cursor===void 0?va:Ca(r.cursor),[s,d]=Sa(t),l=await n.run(s,[e,o,a,r.limit+1,...d]),c=l.slice(0,r.limit),m=c.at(-1);return{runs:c.map(f=>xr(y(f))),nextCursor:l.length>r.limit&&m!==void 0?qa(m):null}}i(kr,"readRunPage");function Sa(n){let{status:e,workflow:t,attention:r}=n;if(r===!0){if(e!==void 0||t!==void 0)throw new p("invalid_request","the attention filter does not combine with others yet",{fix:"Ask with attention alone, and choose among what comes back."});return[xe.attention,[]]}return e!==void 0&&t!==void 0?[xe.both,[e,t]]:e!==void 0?[xe.status,[e]]:t!==void 0?[xe.workflow,[t]]:[xe.all,[]]}i(Sa,"choose");var va=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function qa(n){return`${y(n).text("created_micros")}.${y(n).text("run_id")}`}i(qa,"cursorOf");function Ca(n){let e=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(n);if(e===null)throw new p("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[e[1],e[2]]}i(Ca,"parseCursor");async function br(n,e){return(await n.run(Ia,[e.tenantId,e.runId])).map(r=>{let o=y(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}i(br,"readDeliveries");function xr(n){return{tenantId:n.text("tenant_id"),runId:n.text("run_id"),idempotencyKey:n.textOrNull("idempotency_key"),workflow:{name:n.text("workflow_name"),version:n.number("workflow_version"),digest:n.text("workflow_digest")},queue:n.text("queue"),priority:n.number("priority"),agent:n.textOrNull("agent"),requestedBy:n.text("requested_by"),status:n.text("status"),enqueueSeq:n.number("enqueue_seq"),journalLength:n.number("journal_length"),errorCode:n.textOrNull("error_code"),attention:gr(n,"attention_reason","attention_at"),quarantine:gr(n,"quarantine_reason","quarantined_at"),pausedAt:n.dateOrNull("paused_at"),deadlineAt:n.dateOrNull("deadline_at"),createdAt:n.date("created_at"),startedAt:n.dateOrNull("started_at"),finishedAt:n.dateOrNull("finished_at")}}i(xr,"runOf");function gr(n,e,t){let r=n.textOrNull(e),o=n.dateOrNull(t);return r===null||o===null?null:{reason:r,at:o}}i(gr,"flag");var Aa=g("deliveries.settle",`
with ${N(L)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${Sn("r.status","DONE")}) or ($5 = 'FAILED' and ${Sn("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${G}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
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
returning run.status`),Da=g("deliveries.settle-contain",`
with ${N(R)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`),$a=_("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),Na=g("runs.quarantine",`
with ${N(L)}, settled as (
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
returning run_id`),Oa=g("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${b(be("run"))})
returning run.run_id`);async function Er(n,e,t){let r=t.status==="DONE"?"done":"failed",o=t.status==="DONE"?[t.outputText,t.outputDigest,null,null,null]:[null,null,t.errorCode,t.errorText,t.errorDigest],a=await n.run(Aa,[...Te(e),t.status,r,...o]),[s]=a;return s!==void 0?{settled:!0,runStatus:y(s).text("status")}:Nn(n,e,r)}i(Er,"settleDeliveryIfClaimed");async function Ir(n,e,t){return n.transaction("deliveries.settle-contain",async r=>{await T(r,[e]);let a=(await r.run(Da,[...Te(e),t])).length===1||(await Nn(r,e,t)).settled;return{settled:a,ended:a?await U(r,e):null}})}i(Ir,"settleContainIfClaimed");async function Sr(n,e,t){return(await n.run(Na,[...Te(e),t])).length===1?!0:(await Nn(n,e,"given_back")).settled}i(Sr,"quarantineRunIfClaimed");async function vr(n,e,t){return(await n.run(Oa,[e.tenantId,e.runId,t])).length===1}i(vr,"raiseAttention");async function Nn(n,e,t){let[r]=await n.run($a,Te(e));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=y(r),a=o.text("run_status");return r.mine===!0&&o.textOrNull("outcome")===t?{settled:!0,runStatus:a}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:a}}i(Nn,"readClaim");function Te(n){return[n.tenantId,n.runId,n.seq,n.token]}i(Te,"keyOf");var Pa=g("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`);async function qr(n,e,t){await n.run(Pa,[e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.digest),t])}i(qr,"recordWorkflows");function h(n,e){return((...t)=>e(n,...t))}i(h,"bind");function Cr(n){let e=new Pe(n);return{schema:e.schema,runs:{admit:h(e,oe),byKey:h(e,ie),byId:h(e,Ne),get:h(e,wr),page:h(e,kr),raiseAttention:h(e,vr),quarantineIfClaimed:h(e,Sr),cancel:h(e,Wt)},deliveries:{releaseIfHeld:h(e,At),claimIfDue:h(e,rr),unclaimed:h(e,or),settleIfClaimed:h(e,Er),duePublications:h(e,lr),markPublished:h(e,cr),markPublicationFailed:h(e,mr),settleContainIfClaimed:h(e,Ir),beatIfClaimed:h(e,Ut),yieldIfClaimed:h(e,Tt),giveBackIfClaimed:h(e,jt),lapsed:h(e,Zt),settleLost:h(e,er),recordWorkerEnd:h(e,ar),ofRun:h(e,br)},journal:{appendIfClaimed:h(e,dr),read:h(e,ur)},checkpoints:{read:h(e,zt)},intents:{openIfClaimed:h(e,Kt),closeIfClaimed:h(e,Ht),openOfRun:h(e,Jt),lastOfRun:h(e,Vt)},items:{ofRun:h(e,Qt),due:h(e,Yt),contain:h(e,Xt),acknowledge:h(e,Cn),acknowledgeWorker:h(e,Gt)},evidence:{reject:h(e,Bt)},workflows:{record:h(e,qr)},doctor:i(()=>Lt(e),"doctor"),schemaVersion:i(()=>In(e),"schemaVersion"),transaction:e.transaction.bind(e),close:i(()=>e.close(),"close")}}i(Cr,"openLedger");import Ta from"pg";var On="ghouls_app";function Rr(n,e){return`
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
`}i(Rr,"grantsSql");function Ar(n){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${n}') then create schema ${n}; end if;
end $$;
create table if not exists ${n}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}i(Ar,"prologueSql");function Dr(n,e){return`${K(n.sql,e)}
insert into ${e}.migrations (number, name) values (${n.number}, '${n.name}');
`}i(Dr,"stepSql");function $r(n={}){let{schema:e,role:t}=Or(n);return["begin;",Ar(e).trim(),...ae.map(r=>`-- ${r.number} ${r.name}
${Dr(r,e).trim()}`),Rr(e,t).trim(),"commit;",""].join(`

`)}i($r,"migrationSql");async function Nr(n){let{schema:e,role:t}=Or(n),r=new Ta.Client({connectionString:n.connectionString,application_name:"ghouls-migrate"});r.on("error",()=>{}),await r.connect();try{await r.query("begin"),await r.query("select pg_advisory_xact_lock(hashtextextended($1, 0))",[`ghouls-migrate:${e}`]),await r.query(Ar(e));let a=(await r.query(`select number from ${e}.migrations order by number`)).rows.at(-1)?.number??0,s=ae.at(-1)?.number??0;if(a>s)throw new p("configuration_invalid",`the schema is at migration ${a}, this code knows ${s}`,{fix:"Run the newer version of ghouls."});let d=ae.filter(c=>c.number>a);for(let c of d)await r.query(Dr(c,e));await r.query(Rr(e,t));let l=await r.query("commit");if(l.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${l.command}`);return{applied:d.map(({number:c,name:m})=>({number:c,name:m})),version:s}}catch(o){throw ja(o,t)}finally{await r.end()}}i(Nr,"migrate");function Or(n){let e=n.schema??te,t=n.applicationRole??On;return re(e,"the schema name"),re(t,"the application's role"),{schema:e,role:t}}i(Or,"named");function ja(n,e){let t=typeof n=="object"&&n!==null&&"code"in n?n.code:void 0;return t==="42501"?new p("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:n}):t==="42704"?new p("configuration_invalid",`the application's role "${e}" does not exist`,{fix:`Create it (create role ${e} login), or name yours with --app-role.`,cause:n}):n}i(ja,"readable");import Ln from"pg";var za={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function Pn(n,e){let{schema:t,migrator:r,application:o}=n;for(let[s,d]of[["the schema name",t],["the migrator's role",r.name],["the application's role",o.name]])re(d,s);let a=i(({name:s,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${s}') then create role ${s} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${s}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${s} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${s} login password ${Ln.escapeLiteral(d)}`],"role");return[...a(r),...a(o),...Object.entries(za).map(([s,d])=>`alter role ${o.name} set ${s} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${t} authorization ${r.name}`,`grant connect on database ${Ln.escapeIdentifier(e)} to ${r.name}, ${o.name}`]}i(Pn,"rolesSql");async function Lr(n,e){let t=new Ln.Client({connectionString:n});t.on("error",()=>{}),await t.connect();try{let r=(await t.query("select current_database() as name")).rows[0]?.name??"";for(let o of Pn(e,r))await t.query(o)}finally{await t.end()}}i(Lr,"createRoles");var ko={};Ee(ko,{DEFAULT_EXECUTION_SETTINGS:()=>zr,Publisher:()=>se,Registry:()=>en,blameHop:()=>Yr,createAdmission:()=>jr,createControl:()=>po,createReads:()=>go,reconcile:()=>wo,work:()=>mo});function Mr(n,e){let t=[],r=!1,o=i(async()=>{for(r=!0;t.length>0;){let a=t.slice(0,n);t=t.slice(n);try{let s=await e(a.map(d=>d.item));a.forEach((d,l)=>d.resolve(s[l]))}catch(s){for(let d of a)d.reject(s)}}r=!1},"drain");return a=>new Promise((s,d)=>{t.push({item:a,resolve:s,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}i(Mr,"grouped");var Fa=100,se=class{static{i(this,"Publisher")}#e;#n;constructor(e){this.#e=e,this.#n=Mr(Fa,t=>this.#t(t))}publish(e){return this.#n(e)}async#t(e){let{queue:t,log:r,faults:o}=this.#e;try{let{confirmed:a,failed:s}=await t.publish(e);for(let{publication:l,reason:c}of s)r.warn("a delivery could not be published; the relay will",{runId:l.runId,reason:c});await o("admission.after-publish",`${a.length} confirmed`),await this.#r(a,s);let d=new Set(a.map(({runId:l,enqueueSeq:c})=>`${l}:${c}`));return e.map(({runId:l,enqueueSeq:c})=>d.has(`${l}:${c}`)?"published":"failed")}catch(a){return r.warn("publications failed; the relay repeats them",{count:e.length,error:String(a).slice(0,200)}),e.map(()=>"failed")}}async#r(e,t){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(e),await r.deliveries.markPublicationFailed(t)}catch(a){o.warn("publications could not be marked",{count:e.length,error:a.name})}}};var Ga=5,Ua="1h";async function je(n,e,t){let{request:r}=t,o=Buffer.byteLength(t.inputText);if(o>_e)throw new p("too_large",`the input is ${o} bytes of JSON, the limit is ${_e}`,{fix:"Keep the material elsewhere and send a reference."});if(r.holdFor!==void 0&&r.held!==!0)throw new p("invalid_request","holdFor is for a run that is held",{issues:[{path:"/holdFor",message:"needs held: true"}],fix:"Add held: true, or leave holdFor out."});let a=JSON.parse(t.inputText),s=r.workflow===void 0?Wa(n.route,{input:a,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=n.registry.choose(r.workflow??s.workflow,r.version);await Ha(d,a);let l=n.ids.next(),c=await n.codec.encode(t.inputText,{tenantId:e.tenantId,runId:l,kind:"input"});return{tenantId:e.tenantId,runId:l,idempotencyKey:t.idempotencyKey??null,requestDigest:await Mn(n.codec,t.canonicalRequest),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:Ba(n.queues,r.queue??s?.queue??d.definition.queue??yn),priority:Ka(r.priority??s?.priority??Ga),agent:r.agent??null,requestedBy:e.subject,requestedRoles:e.roles,inputText:c,inputDigest:S(c),deadlineMs:d.definition.deadlineMs??null,onWorkerLoss:d.definition.onWorkerLoss,held:r.held??!1,holdMs:O(r.holdFor??Ua)}}i(je,"prepare");async function Mn(n,e){return n.digest?.(e)??S(e)}i(Mn,"requestDigest");function Wa(n,e){let t;try{t=n?.(e)}catch{throw new p("invalid_request","the route of the configuration could not choose a workflow for this request",{fix:"Name a workflow in the request."})}if(t===void 0)throw new p("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return t}i(Wa,"routeOf");function Ba(n,e){if(!n.includes(e))throw new p("unknown_queue",`there is no queue "${e}"`,{fix:`Configured are: ${n.join(", ")}.`});return e}i(Ba,"queueOf");function Ka(n){if(!Number.isInteger(n)||n<0||n>9)throw new p("invalid_request",`a priority of ${n} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return n}i(Ka,"priorityOf");async function Ha(n,e){let t=await Ja(n,e);if(t.length!==0)throw new p("input_invalid",`the input does not fit workflow "${n.definition.name}"`,{issues:t,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}i(Ha,"checkInput");async function Ja(n,e){try{let t=await n.definition.input.safeParseAsync(e);return t.success?[]:t.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch{return[{path:"/input",message:"the workflow's schema failed on this input"}]}}i(Ja,"issuesOf");function jr(n){let{ledger:e}=n,t=new se(n),r={lockTimeoutMs:n.lockTimeoutMs??2e3,publisherGraceSeconds:n.publisherGraceSeconds??15},o=i(async d=>{d.unpublished&&await Qa(t.publish(d))},"publishIfUnpublished"),a=i(async(d,{idempotencyKey:l,canonicalRequest:c})=>{if(l===void 0)return;let[m]=await e.runs.byKey([{tenantId:d.tenantId,idempotencyKey:l}]);if(!(m===void 0||m.requestDigest!==await Mn(n.codec,c)))return ze({run:m,created:!1})},"admittedBefore"),s=i(async d=>{let l=await e.runs.admit(d,r);await n.faults("admission.after-commit",`${l.size} created`);let c=await Tr(d,l,e.runs);return await Promise.all(c.flatMap(m=>"run"in m?[o(m.run)]:[])),c},"commit");return{admit:i(async(d,l)=>{let c;try{c=await je(n,d,l)}catch(f){let w=await a(d,l);if(w===void 0)throw f;return w}let[m]=await s([c]);if(m===void 0||"conflict"in m)throw Tn(c.idempotencyKey);return ze(m)},"admit"),admitBatch:i(async(d,l)=>{let c=await Xa(l,f=>je(n,d,f));return{runs:(await s(c)).map((f,w)=>"run"in f?{outcome:"admitted",run:ze(f)}:{outcome:"conflict",idempotencyKey:c[w]?.idempotencyKey??"",detail:Tn(c[w]?.idempotencyKey??null).message})}},"admitBatch"),release:i(async(d,l)=>{let c={tenantId:d.tenantId,runId:l},m=P(l)&&await e.deliveries.releaseIfHeld(c,r.publisherGraceSeconds),[f]=P(l)?await e.runs.byId([c]):[];if(f===void 0)throw new p("not_found","there is no such run",{fix:"Check the run id."});await o(f);let w=f.status==="FAILING"||f.status==="FAILED"||f.status.startsWith("CANCEL");if(!m&&w)throw new p("hold_ended",`the run is ${f.status}: there is nothing left to release`,{fix:"Admit a new run."});return{runId:l,enqueueSeq:f.enqueueSeq,released:m}},"release"),admitIn:i(async(d,l,c)=>{let m=await je(n,l,c),f=Oe(d,e.schema),w=await Le(f,async()=>{let C=await oe(f,[m],r),[me]=await Tr([m],C,{byKey:i(v=>ie(f,v),"byKey"),byId:i(()=>Promise.resolve([]),"byId")});return me});if(w===void 0||"conflict"in w)throw Tn(m.idempotencyKey);return{admitted:ze(w),tenantId:l.tenantId}},"admitIn"),publish:i(async({admitted:d,tenantId:l})=>{if(d.held)return;let{runId:c,enqueueSeq:m,queue:f}=d;await t.publish({tenantId:l,runId:c,enqueueSeq:m,queue:f})},"publish")}}i(jr,"createAdmission");var Va=2e3;async function Qa(n){let e,t=new Promise(r=>{e=setTimeout(r,Va)});await Promise.race([n,t]),clearTimeout(e)}i(Qa,"inTime");async function Tr(n,e,t){let r=n.filter(l=>!e.has(l.runId)),o=r.flatMap(l=>l.idempotencyKey===null?[]:[{tenantId:l.tenantId,idempotencyKey:l.idempotencyKey}]),a=r.filter(l=>l.idempotencyKey===null),s=new Map((o.length>0?await t.byKey(o):[]).map(l=>[l.idempotencyKey,l])),d=new Map((a.length>0?await t.byId(a):[]).map(l=>[l.runId,l]));return n.map(l=>{if(e.has(l.runId))return{run:Ya(l),created:!0};let c=l.idempotencyKey===null?d.get(l.runId):s.get(l.idempotencyKey);if(c===void 0)throw new p("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return c.requestDigest!==l.requestDigest?{conflict:!0}:{run:c,created:c.runId===l.runId}})}i(Tr,"settleKeys");function Ya(n){let{tenantId:e,runId:t,idempotencyKey:r,requestDigest:o,workflow:a,queue:s,priority:d,held:l}=n;return{tenantId:e,runId:t,idempotencyKey:r,requestDigest:o,workflow:a,queue:s,priority:d,held:l,status:"QUEUED",enqueueSeq:1,unpublished:!l}}i(Ya,"freshRun");function ze({run:n,created:e}){let{runId:t,status:r,enqueueSeq:o,workflow:a,queue:s,priority:d,held:l}=n;return{runId:t,created:e,status:r,enqueueSeq:o,workflow:a,queue:s,priority:d,held:l}}i(ze,"admittedView");function Tn(n){return new p("idempotency_conflict",`the idempotency key "${n}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}i(Tn,"conflict");async function Xa(n,e){let t=[],r=[],o;for(let[a,s]of n.entries())try{t.push(await e(s))}catch(d){if(!(d instanceof p))throw d;o??=d;let l=d.issues??[{path:"",message:d.message}];r.push(...l.map(c=>({path:`/runs/${a}${c.path}`,message:c.message})))}if(o===void 0)return t;throw new p(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}i(Xa,"prepareAll");var zr={replayPatienceMs:1e3,settleReserveMs:2e3,overdueAfterMs:6e4,actsMarginSeconds:60,leaseMs:12e4,beatMs:3e4,maxLosses:3,maxContainDeliveries:3,publisherGraceSeconds:15};function de(){return new Promise(n=>setImmediate(n))}i(de,"comeToRest");function J(){let{promise:n,resolve:e,reject:t}=Promise.withResolvers();return n.catch(()=>{}),{promise:n,resolve:e,reject:t}}i(J,"deferred");var Fe=class{static{i(this,"Calls")}#e=new Map;#n=new Map;#t=new Map;next(e,t,r,o){let a=jn({epoch:e,scope:t,name:o});if(this.#n.has(a))return;let s=I({epoch:e,scope:t,kind:r,name:o,nth:0}),d=(this.#e.get(s)??0)+1;return this.#e.set(s,d),{epoch:e,scope:t,kind:r,name:o,nth:d}}open(e,t,r){let o={id:e,key:I(e),result:J(),start:r,options:t};return this.#t.set(o.key,o),this.#n.set(jn(e),o.key),o}find(e){return this.#t.get(I(e))}close(e){this.#t.delete(e.key),this.#n.delete(jn(e.id))}openCalls(){return[...this.#t.values()]}};function jn(n){return JSON.stringify([n.epoch,n.scope,n.name])}i(jn,"placeOf");function q(n,e,t){return{kind:"failed",failure:{code:n,name:"Refused",message:e,...t===void 0?{}:{step:t}}}}i(q,"refusal");var Za=100,es=2e3;async function ue(n,e){for(let t=Za;;t=Math.min(es,t*2))try{return await n()}catch(r){if(!(r instanceof E)||r.kind==="defect"||r.kind==="schema"||!e.mayGoOn()||(e.onPause(r),await new Promise(o=>setTimeout(o,t*(.5+e.chance()/2))),!e.mayGoOn()))throw r}}i(ue,"persist");var Fr=32*1048576,Ge=class{static{i(this,"JournalWriter")}#e;#n;#t;#r;#i;constructor(e,t,r,o){this.#r=o,this.#e=e,this.#n=r,this.#i=e.journalBytes,this.#t=[...t]}entries(){return this.#t}async reject(e,t){try{let{tenantId:r,runId:o}=this.#e,a=X(t.outcome==="ok"?t.value:t.failure),s=a===void 0?null:await this.#n.codec.encode(a,{tenantId:r,runId:o,kind:"result"});await this.#n.ledger.evidence.reject(this.#e,{call:I(e),outcome:t.outcome,bodyText:s,bodyDigest:s===null?null:S(s)}),await this.#u(e,t);return}catch(r){return r}}async#u(e,t){if(t.outcome!=="ok"||t.closesIntent!==!0)return;let{epoch:r,scope:o,kind:a,name:s,nth:d}=e,l=`[${[r,o,a,s,d].map(f=>JSON.stringify(f)).join(", ")}]`,{token:c}=this.#e;await this.#n.ledger.items.acknowledge(this.#e,{kind:"effect",key:l,by:"worker",words:"it has happened, says the worker that made the call",token:c})}async write(e,t,r){try{return await this.#o(e,t,r)}catch(o){if(!(o instanceof $))return{written:!1,end:{kind:"unknown",error:o}};let a=`the result of step "${e.name}": ${o.message}`;return{written:!1,end:q(o.reason,a,e.name)}}}async#o(e,t,r){let{tenantId:o,runId:a}=this.#e,s=X(t.outcome==="ok"?t.value:t.failure),d=s===void 0?null:await this.#n.codec.encode(s,{tenantId:o,runId:a,kind:"result"}),l=d===null?0:Buffer.byteLength(d);if(this.#i+l>Fr)throw new $("too_large",`it would bring the run's journal above ${Fr} bytes`);let c={...e,outcome:t.outcome,resultText:d,resultDigest:d===null?null:S(d),resultBytes:l,tries:t.tries,tookMs:r,closesIntent:t.outcome==="ok"&&t.closesIntent===!0},m=await ue(()=>this.#n.ledger.journal.appendIfClaimed(this.#e,c),this.#r);return m===null?{written:!1,end:{kind:"fenced"}}:(this.#i+=l,this.#t.push({...e,ordinal:m.ordinal,outcome:t.outcome,digest:d===null?null:S(d)}),await this.#n.faults("worker.after-journal",e.name),{written:!0,text:s,completedAt:m.completedAt})}};async function Gr(n){let{options:e}=n;for(let t=1;;t+=1){let r=await Ue(n,t);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:t};if(ns(r.thrown)||t>=e.tries)return{outcome:"error",failure:r.failure,tries:t};if(n.hopSignal.aborted)return{outcome:"abandoned",tries:t};if(n.log.warn("a try of a step failed",{step:n.name,try:t,error:r.failure.name}),await zn(he(e.backoff,t+1,n.chance()),n.hopSignal),n.hopSignal.aborted)return{outcome:"abandoned",tries:t};let a=n.whyNotNow();if(a!==void 0)return{outcome:"stops",end:a}}}i(Gr,"runStep");async function Ue(n,e){let{timeoutMs:t}=n.options,r=new AbortController,o=i(()=>r.abort(n.hopSignal.reason),"stop");n.hopSignal.addEventListener("abort",o,{once:!0}),n.hopSignal.aborted&&o();let a=!1,s=setTimeout(()=>{a=!0,r.abort(new DOMException(`step "${n.name}" did not end within ${t} ms`,"TimeoutError"))},t),d=setTimeout(n.onOverdue,t+n.overdueAfterMs);try{let{idempotencyKey:l,log:c}=n;return{outcome:"ok",value:await n.run({idempotencyKey:l,tryNumber:e,signal:r.signal,log:c})}}catch(l){let c=k(l);return{outcome:"error",thrown:l,failure:a?{name:"TimeoutError",message:`it did not end within ${t} ms (then: ${c.message.slice(0,500)})`}:c}}finally{clearTimeout(s),clearTimeout(d),n.hopSignal.removeEventListener("abort",o)}}i(Ue,"callOnce");function ns(n){return n instanceof W?!0:n instanceof Error&&n.name==="NonRetryableError"}i(ns,"isNonRetryable");function zn(n,e){return new Promise(t=>{if(e.aborted)return t();let r=i(()=>{clearTimeout(o),e.removeEventListener("abort",r),t()},"end"),o=setTimeout(r,n);e.addEventListener("abort",r,{once:!0})})}i(zn,"pause");var j=i(n=>({outcome:"stops",end:n}),"stops"),ts=1e3,rs=3e5;async function Wr(n,e){let t=n.lastNumber,r=n.triesUsed;if(n.openIntent!==void 0){let o=await is(n,n.openIntent,e);if(o!=="cannot_happen")return o}if(r>=n.options.tries)return Ur(n,r,{name:"Error",message:"it did not happen"});for(;;){let o=n.whyNotNow();if(o!==void 0)return j(o);if(t+=1,r+=1,await e.faults("worker.before-intent",n.call.name),!await e.ledger.intents.openIfClaimed(n.claim,n.call,t))return j({kind:"fenced"});await e.faults("worker.after-intent",n.call.name);let a=await Ue(Br(n,n.call.name,n.run),r);if(a.outcome==="ok")return{outcome:"ok",value:a.value,tries:r,closesIntent:!0};if(!(a.thrown instanceof Q))return os(n,r,a.failure);if(!await e.ledger.intents.closeIfClaimed(n.claim,n.call,t,"not_done"))return j({kind:"fenced"});if(r>=n.options.tries||n.hopSignal.aborted)return Ur(n,r,a.failure);await zn(he(n.options.backoff,r+1,e.chance()),n.hopSignal)}}i(Wr,"onceStep");function Br(n,e,t){let{options:r,hopSignal:o,log:a,onOverdue:s,overdueAfterMs:d}=n,l=pe(n.claim.firstRunId,n.call);return{name:e,run:t,options:r,hopSignal:o,log:a,onOverdue:s,overdueAfterMs:d,idempotencyKey:l}}i(Br,"callOf");function Ur(n,e,t){return n.log.warn("an effect has certainly not happened",{step:n.call.name,tries:e}),{outcome:"error",failure:t,tries:e}}i(Ur,"failedForGood");function os(n,e,t){return n.probe===void 0?j(We(n,t.message)):(n.log.warn("the outcome of an effect is unknown; its probe is asked next",{step:n.call.name,try:e}),j({kind:"given_back",dueAt:new Date(n.ledgerNowMs()+ts),why:`the outcome of "${n.call.name}" is unknown`}))}i(os,"unknownOutcome");function We(n,e){let{name:t}=n.call;return q("effect_unknown",`effect "${t}" may or may not have happened: ${e.slice(0,500)}`,t)}i(We,"effectUnknown");async function is(n,e,t){if(!e.over){let a=e.overAt??new Date(n.ledgerNowMs()+rs);return j({kind:"given_back",dueAt:a,why:`an earlier worker may still carry out "${n.call.name}"`})}if(n.probe===void 0)return j(We(n,"its worker was lost, and it has no probe"));let r=await Fn(n.probe,n);return typeof r=="string"?j(We(n,r)):r.outcome==="happened"?{outcome:"ok",value:r.result,tries:e.number,closesIntent:!0}:r.outcome==="unknown"?j(We(n,"its probe does not know")):await t.ledger.intents.closeIfClaimed(n.claim,n.call,e.number,"cannot_happen")?"cannot_happen":j({kind:"fenced"})}i(is,"askAbout");async function Fn(n,e){let t=await Ue(Br(e,`probe of ${e.call.name}`,n),1);return t.outcome==="error"?`its probe failed: ${t.failure.message.slice(0,300)}`:as(t.value)?t.value:"its probe answered nothing that a probe answers"}i(Fn,"probe");function as(n){return typeof n!="object"||n===null||!("outcome"in n)?!1:n.outcome==="happened"||n.outcome==="cannot_happen"||n.outcome==="unknown"}i(as,"isAnswer");function Be(n,e,t){return n.claimedAt.getTime()+e.clock.monotonicMs()-t.claimedAtMs}i(Be,"ledgerNowMs");function Gn(n,e,t,r,o){if(t.deadlineAt!==null&&Be(t,r,o)>=t.deadlineAt.getTime())return q("deadline",`the run's deadline has passed before step "${n}"`,n);if(!(e<=o.remainingMs()-r.settings.settleReserveMs))return{kind:"yielded",why:"time"}}i(Gn,"whyNotNow");async function Kr(n,e){let{call:t,claim:r,run:o,options:a,hopSignal:s,log:d,effects:l,invocation:c}=n,m={run:o,options:a,hopSignal:s,log:d,overdueAfterMs:e.settings.overdueAfterMs,onOverdue:i(()=>Un(n,e),"onOverdue"),whyNotNow:i(()=>Gn(t.name,a.timeoutMs,r,e,c),"whyNotNow")};try{await e.faults("worker.before-step",t.name);let f=a.once?await Wr({...m,call:t,claim:r,probe:a.probe,...l.of(t),ledgerNowMs:i(()=>Be(r,e,c),"ledgerNowMs")},e):await Gr({...m,name:t.name,idempotencyKey:pe(r.firstRunId,t),chance:e.chance});return await e.faults("worker.after-step",t.name),f}catch(f){return a.once?{outcome:"stops",end:{kind:"unknown",error:f}}:{outcome:"error",failure:k(f),tries:1}}}i(Kr,"liveStep");function Un({call:n,claim:e,log:t},r){r.ledger.runs.raiseAttention(e,`step_overdue: ${n.name}`).catch(o=>{t.warn("attention could not be raised",{step:n.name,error:String(o).slice(0,200)})})}i(Un,"askForAPerson");var ss=6e4,Hr=100,Jr=new Set(["tries","backoff","timeout","effect","probe"]),Vr=200;function Qr(n,e,t,r){if(typeof n!="string"||n===""||n.length>Vr||n.includes("\0")||!n.isWellFormed())return`a step's name is a text of 1 to ${Vr} characters`;if(typeof e!="function")return`step "${n}" has no function`;let o=Object.keys(t??{}).find(a=>!Jr.has(a));if(o!==void 0)return`step "${n}": option "${o}" is not known in this version (known: ${[...Jr].join(", ")})`;try{return ds(n,t??{},r)}catch(a){if(!(a instanceof p))throw a;return`step "${n}": ${a.message}${a.fix===void 0?"":`. ${a.fix}`}`}}i(Qr,"resolveStep");function ds(n,e,t){let r=e.tries??1;if(!Number.isInteger(r)||r<1||r>Hr)return`step "${n}": tries is a whole number from 1 to ${Hr}`;let o=e.timeout===void 0?Math.min(ss,t/2):O(e.timeout);return o<=0||o>t?`step "${n}": a timeout of ${e.timeout} does not fit the function's limit of ${Math.floor(t/1e3)} s`:e.effect!==void 0&&e.effect!=="once"?`step "${n}": effect can only be "once"`:e.probe!==void 0&&(e.effect!=="once"||typeof e.probe!="function")?`step "${n}": a probe is a function, and belongs to a step with effect: "once"`:{tries:r,timeoutMs:o,once:e.effect==="once",probe:e.probe,backoff:fn(e.backoff)}}i(ds,"resolved");import{AsyncLocalStorage as us}from"node:async_hooks";var Wn=new us;function Bn(n,e){return Wn.run(n,e)}i(Bn,"standIn");function Ke(){return Wn.getStore()}i(Ke,"whereAmI");function Yr(n){let e=Wn.getStore();return e===void 0?!1:(e.hop.fail(n),!0)}i(Yr,"blameHop");function Zr(n){let{runId:e,agent:t,requestedBy:r,deadlineAt:o}=n.claim,a=new fe(e,0,"");return{runId:e,agent:t,requestedBy:r,deadline:o===null?void 0:new Date(o),abortSignal:n.abortSignal,log:ls(n),step:i((s,d,l)=>n.step(s,d,l),"step"),now:i(()=>new Date(n.now()),"now"),random:i(()=>Xr("random",()=>a.random()),"random"),uuid:i(()=>Xr("uuid",()=>a.uuid()),"uuid")}}i(Zr,"workflowContext");function Xr(n,e){let t=Ke()?.step;if(t===void 0)return e();throw new W(`ctx.${n}() was called inside step "${t}": draw outside, and use the value inside`)}i(Xr,"outsideOfSteps");function ls(n){let e=i(t=>(r,o)=>{n.isLive()&&n.log[t](r,o)},"only");return{debug:e("debug"),info:e("info"),warn:e("warn"),error:e("error")}}i(ls,"whileLive");var le=class{static{i(this,"Hop")}#e;#n;#t;#r;#i;#u;#o;#a;#c=new AbortController;#s=new Fe;#m=[];#f;#g=!1;#p=0;#_=!0;#h=!1;#d;#y=J();constructor(e,t,r,o,a,s){this.#e=e,this.#n=t,this.#i=r,this.#u=o,this.#t=a,this.#r=s,this.#o=a.logFor(e),this.#f=e.admittedAt,this.#a=new Ge(e,r,a,{chance:a.chance,mayGoOn:i(()=>this.mayWrite()&&s.remainingMs()>a.settings.settleReserveMs/2,"mayGoOn"),onPause:i(d=>this.#o.warn("the ledger is out of reach; a result waits",{kind:d.kind}),"onPause")})}async run(e){this.#w(e),await this.#k(),this.#g=!0;for(let r of this.#s.openCalls())r.start();let t=await this.#S();return this.#c.abort(new DOMException("the hop has ended","AbortError")),t}async openCalls(e,t){this.#w(e),await this.#k();let r=this.#t.clock.monotonicMs(),o=i(s=>this.#s.openCalls().some(d=>d.key===s),"isOpen");for(;!t.every(o)&&this.#d===void 0&&!(this.#t.clock.monotonicMs()-r>this.#t.settings.replayPatienceMs);)await de();let a=this.#s.openCalls();return this.#l({kind:"fenced"}),a}fence(){this.#l({kind:"fenced"})}fail(e){this.#l(eo(e))}drain(){this.#l({kind:"yielded",why:"drain"})}mayWrite(){return this.#_}journal(){return this.#a.entries()}#w(e){let t=Zr({claim:this.#e,log:this.#o,abortSignal:this.#c.signal,isLive:i(()=>this.#g||this.#i.length===0,"isLive"),now:i(()=>this.#f,"now"),step:i((o,a,s)=>this.#q(o,a,s),"step")});Bn({hop:this,step:void 0},i(async()=>this.#n.run(t,e),"body")).then(o=>this.#l({kind:"returned",output:o}),o=>this.#l(eo(o)))}#l(e){let t=this.#d,r=e.kind==="fenced"||e.kind==="unknown";(t===void 0||r||Kn(t)&&!Kn(e))&&(this.#d=e),r&&(this.#_=!1),e.kind!=="returned"&&!Kn(e)&&this.#c.abort(new DOMException("the run does not go on here","AbortError")),this.#y.resolve()}async#k(){await de();for(let e of this.#i){if(this.#b())return;let t=await this.#I(e);if(t===void 0){let r=this.#s.openCalls().map(o=>Ie(o.id));if(this.#b())return;this.#d=q("journal_mismatch",`journal entry ${e.ordinal} is ${Ie(e)}, but the code ${r.length===0?"does not ask for it":`asks for ${r.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`);return}this.#x(t,e.outcome,e.text,e.tries,e.completedAt),await de()}}#b(){let e=this.#d;return this.#h||e!==void 0&&e.kind!=="returned"&&e.kind!=="failed"}async#I(e){let t=this.#t.clock.monotonicMs();for(;;){let r=this.#s.find(e);if(r!==void 0)return r;if(this.#d!==void 0||this.#t.clock.monotonicMs()-t>this.#t.settings.replayPatienceMs)return;await de()}}async#S(){for(;;){let e=this.#m.shift();if(e!==void 0)await this.#v(e);else{if(this.#d!==void 0&&this.#p===0)return this.#d;await this.#y.promise,this.#y=J()}}}async#v({call:e,end:t,tookMs:r}){if(t.outcome==="stops")return this.#l(t.end);if(t.outcome==="abandoned")return;if(!this.#_){let a=await this.#a.reject(e.id,t),s=a===void 0?void 0:k(a).message.slice(0,200);this.#o.warn("a step ended after its claim was gone; its result is rejected evidence",{step:e.id.name,error:s});return}let o=await this.#a.write(e.id,t,r);if(!o.written)return o.end.kind==="fenced"&&await this.#a.reject(e.id,t),this.#l(o.end);t.outcome==="error"&&this.#d?.kind==="returned"&&this.#o.warn("a step failed that the workflow did not wait for",{step:e.id.name}),this.#x(e,t.outcome,o.text??null,t.tries,o.completedAt),await de()}#x(e,t,r,o,a){this.#s.close(e),this.#f=a;let s=r===null?void 0:JSON.parse(r);t==="ok"?e.result.resolve(s):e.result.reject(new Y(e.id.name,o,s))}#q(e,t,r){let o=Ke()?.step;if(o!==void 0){this.#h=!0;let c=`ctx.step("${String(e).slice(0,200)}") was called inside step "${o}": call it in the workflow itself`;return this.#l(q("invalid_call",c,o)),Promise.reject(new Error(c))}if(this.#d!==void 0)return J().promise;let a=this.#r.limitMs-this.#t.settings.settleReserveMs,s=Qr(e,t,r,a);if(typeof s=="string")return this.#E(q("invalid_call",s));let d=this.#s.next(0,"","step",e);if(d===void 0)return this.#E(q("duplicate_call",`a call "${e}" is open already: give calls that run at the same time names of their own`));let l=this.#s.open(d,s,()=>this.#C(l,t));return this.#g&&l.start(),this.#y.resolve(),l.result.promise}#E(e){return this.#h=!0,this.#l(e),J().promise}#C(e,t){if(this.#d!==void 0&&this.#d.kind!=="returned")return;let{clock:r}=this.#t,{options:o}=e,a=Gn(e.id.name,o.timeoutMs,this.#e,this.#t,this.#r);if(a!==void 0)return this.#l(a);this.#p+=1;let s=r.monotonicMs(),{claim:d,log:l,abort:c}={claim:this.#e,log:this.#o,abort:this.#c},m={call:e.id,claim:d,run:t,options:o,hopSignal:c.signal,log:l,effects:this.#u,invocation:this.#r};Bn({hop:this,step:e.id.name},()=>Kr(m,this.#t)).then(w=>{this.#p-=1,this.#m.push({call:e,end:w,tookMs:r.monotonicMs()-s}),this.#y.resolve()})}};function Kn(n){return n.kind==="yielded"||n.kind==="given_back"}i(Kn,"handsOver");function eo(n){let e=cs(n);if(e===void 0)return{kind:"failed",failure:{code:"workflow_failed",...k(n)}};let{name:t,message:r}=k(n);return{kind:"failed",failure:{code:"step_failed",name:t,message:r,...e}}}i(eo,"failureOf");function cs(n){try{if(!(n instanceof Y))return;let e=n.failure.stack;return{step:String(n.step),...typeof e=="string"?{stack:e}:{}}}catch{return}}i(cs,"stepFailureIn");async function no(n,e){if(n.seq===1)return{of:i(()=>({openIntent:void 0,lastNumber:0,triesUsed:0}),"of")};let[t,r]=await Promise.all([e.ledger.intents.openOfRun(n),e.ledger.intents.lastOfRun(n)]),o=new Map(t.map(s=>[I(s),s])),a=new Map(r.map(s=>[I(s),s]));return{of:i(s=>({openIntent:o.get(I(s)),lastNumber:a.get(I(s))?.number??0,triesUsed:a.get(I(s))?.tries??0}),"of")}}i(no,"loadEffects");function Hn(n){return S(JSON.stringify(n.map(e=>[e.ordinal,I(e),e.outcome,e.digest])))}i(Hn,"journalDigest");var D=class extends Error{static{i(this,"DisagreementError")}constructor(e){super(e),this.name="DisagreementError"}},V=class extends Error{static{i(this,"CodecError")}constructor(e){super(e),this.name="CodecError"}};async function Jn(n,e,t,r){if(e===null||S(n)!==e)throw new D(`${t} disagrees with its digest`);try{return await r(n)}catch(o){throw new V(`${t}: ${k(o).message.slice(0,200)}`)}}i(Jn,"verified");async function to(n,e,t){if(e.length!==n.journalLength)throw new D(`the journal has ${e.length} entries, the run says ${n.journalLength}`);let r={tenantId:n.tenantId,runId:n.runId,kind:"result"};return Promise.all(e.map(async(o,a)=>{if(o.ordinal!==a+1)throw new D(`journal entry ${a+1} is missing`);let{ordinal:s,epoch:d,scope:l,kind:c,name:m,nth:f,outcome:w,tries:C,completedAt:me,resultText:v}=o,nn=v===null?ms(o):await Jn(v,o.resultDigest,`journal entry ${s}`,bo=>t.decode(bo,r));return{ordinal:s,epoch:d,scope:l,kind:c,name:m,nth:f,outcome:w,text:nn,tries:C,completedAt:me,digest:o.resultDigest}}))}i(to,"loadJournal");function ms(n){if(n.resultDigest!==null)throw new D(`the result of journal entry ${n.ordinal} is gone`);return null}i(ms,"emptied");function ro(n,e,t){let r=`checkpoint ${n.checkpointGeneration}`;if(e===null)throw new D(`${r} is missing`);if(e.workflowDigest!==n.workflow.digest)throw new D(`${r} is of another workflow digest`);if(e.journalDigest!==Hn(t.slice(0,e.journalLength)))throw new D(`${r} disagrees with the journal`)}i(ro,"verifyCheckpoint");async function He(n,e){let{name:t,version:r,digest:o}=n.workflow,a=e.registry.find(n.workflow);if(a?.digest!==o){let w=a===void 0?"this worker has none of that name and version":`this worker has ${a.digest}`;return q("workflow_changed",`the run is pinned to workflow "${t}" version ${r} with digest ${o}; ${w}`)}let s=a.definition,d=n.journalLength===0?[]:await to(n,await e.ledger.journal.read(n),e.codec);n.checkpointGeneration!==null&&ro(n,await e.ledger.checkpoints.read(n,n.checkpointGeneration),d);let{tenantId:l,runId:c}=n,m=await Jn(n.inputText,n.inputDigest,"the input",w=>e.codec.decode(w,{tenantId:l,runId:c,kind:"input"})),f=await fs(s,m);return"problem"in f?q("input_invalid",`the input does not fit the workflow's schema: ${f.problem}`):{workflow:s,input:f.value,journal:d,effects:await no(n,e)}}i(He,"loadMaterial");function Je(n){return"workflow"in n}i(Je,"isMaterial");async function fs(n,e){try{let t=await n.input.safeParseAsync(JSON.parse(e));return t.success?{value:t.data}:{problem:t.error.message.slice(0,1500)}}catch(t){return{problem:k(t).message}}}i(fs,"inputOf");async function io(n,e,t,r){let o=new AbortController,a=!1,s=i(()=>o.abort(new DOMException("the containment does not go on here","AbortError")),"stop");r.onHop({fence:i(()=>{a=!0,s()},"fence"),drain:s});try{let d=(await e.ledger.items.ofRun(n)).filter(ps),l=await He(n,e);if(!Je(l))return await Vn(n,"refused",e);let c=new le(n,l.workflow,l.journal,l.effects,e,t),m=d.map(C=>oo(C.key)),f=new Map((await c.openCalls(l.input,m)).map(C=>[I(C.id),C])),w=await Promise.all(d.map(C=>gs(n,C,f.get(oo(C.key)),o.signal,e)));return a?{kind:"fenced"}:await Vn(n,w.every(Boolean)?"done":"failed",e)}catch(d){if(!(d instanceof D)&&!(d instanceof V))throw d;return e.logFor(n).error("a contain delivery could not be begun",{error:d.message}),Vn(n,"refused",e)}}i(io,"carryContain");function oo(n){return JSON.stringify(JSON.parse(n))}i(oo,"sameKey");function ps(n){return n.kind==="effect"&&n.acknowledgedAt===null}i(ps,"isOpenEffect");async function gs(n,e,t,r,o){if(t?.options.probe===void 0)return!1;let a=o.logFor(n),s=await Fn(t.options.probe,{call:t.id,claim:n,options:t.options,log:a,hopSignal:r,overdueAfterMs:o.settings.overdueAfterMs,onOverdue:i(()=>Un({call:t.id,claim:n,log:a},o),"onOverdue")});if(typeof s=="string"||s.outcome==="unknown")return a.warn("an effect of an ending run is still unknown",{step:t.id.name,reason:typeof s=="string"?s:"unknown"}),!1;let d=s.outcome==="happened"?"it has happened":"it has not happened, and cannot any more";return await o.ledger.items.acknowledge(n,{kind:"effect",key:e.key,by:"probe",words:d,under:n})!==null}i(gs,"settleEffect");async function Vn(n,e,t){let{settled:r,ended:o}=await t.ledger.deliveries.settleContainIfClaimed(n,e);return r?(o===null&&(e!=="done"&&await t.ledger.runs.raiseAttention(n,`containment ${e}: an effect is still unknown`),await t.ledger.items.contain(n,t.settings.maxContainDeliveries)),{kind:"contained",outcome:e}):{kind:"fenced"}}i(Vn,"finish");async function ao(n,e,t,r){await r.faults("worker.before-handover",n.runId);let o=await r.ledger.deliveries.yieldIfClaimed(n,{workflowDigest:n.workflow.digest,journalLength:e.length,journalDigest:Hn(e)},{idle:t.idle,publisherGraceSeconds:r.settings.publisherGraceSeconds});return await r.faults("worker.after-handover",n.runId),o===null?{kind:"fenced"}:(await ys(n,o,r),{kind:"handed_over",why:t.why})}i(ao,"handOver");async function Qn(n,e,t){await t.faults("worker.before-handover",n.runId);let r=await t.ledger.deliveries.giveBackIfClaimed(n,e.dueAt);return await t.faults("worker.after-handover",n.runId),r===null?{kind:"fenced"}:{kind:"handed_over",why:e.why}}i(Qn,"giveBack");async function ys(n,e,t){let{tenantId:r,runId:o}=n;await t.publisher.publish({tenantId:r,runId:o,enqueueSeq:e.enqueueSeq,queue:e.queue})}i(ys,"publish");async function so(n,e,t,r){let{tenantId:o,runId:a}=n,s=t.kind==="returned"?await hs(e,t.output):t.failure;if(_s(s)){let l=await r.codec.encode(JSON.stringify(s),{tenantId:o,runId:a,kind:"error"});return{status:"FAILED",errorCode:s.code,errorText:l,errorDigest:S(l)}}if(s.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(s.text,{tenantId:o,runId:a,kind:"output"});return{status:"DONE",outputText:d,outputDigest:S(d)}}i(so,"settlementOf");function _s(n){return"code"in n}i(_s,"isFailure");async function hs(n,e){try{let t=await n?.output?.safeParseAsync(e);return t!==void 0&&!t.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${t.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:X(t===void 0?e:t.data)}}catch(t){return t instanceof $?{code:t.reason,name:"Refused",message:`what the workflow returned: ${t.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${k(t).message.slice(0,500)}`}}}i(hs,"outputOf");async function uo(n,e,t){await t.faults("worker.before-settle",n.runId);let r=await t.ledger.deliveries.settleIfClaimed(n,e);return await t.faults("worker.after-settle",n.runId),r}i(uo,"settle");async function lo(n,e,t,r){try{await e.faults("worker.after-claim",n.runId);let o=n.cause==="contain"?await io(n,e,t,r):await ws(n,e,t,r);return o.kind==="fenced"&&await bs(n,e),o}catch(o){return o instanceof D?Es(n,o.message,e):o instanceof V?xs(n,o,e,t):{kind:"unknown",error:o}}}i(lo,"carry");async function ws(n,e,t,r){let o=await He(n,e);if(!Je(o))return Ve(n,o,e,t,void 0);if(n.deadlineAt!==null&&n.claimedAt>=n.deadlineAt){let d=`the run's deadline ${n.deadlineAt.toISOString()} had passed when a worker claimed it`;return Ve(n,q("deadline",d),e,t,void 0)}let a=new le(n,o.workflow,o.journal,o.effects,e,t);r.onHop(a);let s=await a.run(o.input);return Ve(n,s,e,t,a)}i(ws,"carryHop");async function Ve(n,e,t,r,o){switch(e.kind){case"fenced":case"unknown":return e;case"given_back":return ue(()=>Qn(n,e,t),Yn(n,t,r,o));case"yielded":{let a=e.why==="time"&&o?.journal().length===n.journalLength;return!a||n.idleYields===0?ue(()=>ao(n,o?.journal()??[],{why:e.why,idle:a},t),Yn(n,t,r,o)):Ve(n,q("no_progress",ks),t,r,o)}case"returned":case"failed":{let a=t.registry.find(n.workflow)?.definition,s=await so(n,a,e,t),d=await ue(()=>uo(n,s,t),Yn(n,t,r,o));return d.settled?(s.status==="FAILED"&&s.errorCode==="effect_unknown"&&await t.ledger.runs.raiseAttention(n,"effect_unknown: an effect may or may not have happened"),{kind:"settled",status:d.runStatus}):{kind:"fenced"}}}}i(Ve,"conclude");function Yn(n,e,t,r){return{chance:e.chance,mayGoOn:i(()=>r?.mayWrite()!==!1&&t.remainingMs()>e.settings.settleReserveMs/2,"mayGoOn"),onPause:i(o=>e.logFor(n).warn("the ledger is out of reach; the hop's end waits",{kind:o.kind}),"onPause")}}i(Yn,"persistenceOf");var ks="two invocations in a row ended without a new journal entry: a step does not fit into one";async function bs(n,e){try{await e.ledger.items.acknowledgeWorker(n)}catch(t){e.logFor(n).warn("a worker could not acknowledge its own end",{error:String(t).slice(0,200)})}}i(bs,"acknowledge");async function xs(n,e,t,r){t.logFor(n).error("a payload could not be decoded; the delivery goes back",{error:e.message});try{let o=new Date(Be(n,t,r)+3e4);return await Qn(n,{kind:"given_back",dueAt:o,why:"a payload could not be decoded"},t)}catch(o){return{kind:"unknown",error:o}}}i(xs,"later");async function Es(n,e,t){try{return await t.ledger.runs.quarantineIfClaimed(n,e)?{kind:"quarantined",reason:e}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}i(Es,"quarantine");async function Qe(n,e=null){let{ledger:t,publisher:r,faults:o,log:a,settings:s}=n,d=await t.deliveries.lapsed(n.pageSize,e);if(d.length===0)return{lapsed:0,resumed:0,failing:0};await o("reanimation.after-select",`${d.length} lapsed`);let l=(await Promise.all(d.map(f=>Is(f,n)))).flat(),c=await t.deliveries.settleLost(l,s);await o("reanimation.after-judgement",`${c.length} judged`);let m=c.filter(f=>f.status==="QUEUED");for(let{runId:f,status:w,enqueueSeq:C}of c)a.warn("a worker was lost",{runId:f,status:w,enqueueSeq:C});return await Promise.all(m.map(f=>r.publish(f))),{lapsed:d.length,resumed:m.length,failing:c.filter(f=>f.status==="FAILING").length}}i(Qe,"reanimate");async function Is(n,{codec:e,log:t,settings:r}){if(n.onWorkerLoss==="resume"&&n.losses+1<r.maxLosses)return[{...n,errorText:"",errorDigest:""}];let a={code:"ghoul_lost",name:"Lost",message:n.onWorkerLoss==="fail"?`the worker of delivery ${n.seq} was lost, and the workflow does not resume`:`the worker of delivery ${n.seq} was lost, and the run has used up its losses (${n.losses+1})`},{tenantId:s,runId:d}=n;try{let l=await e.encode(JSON.stringify(a),{tenantId:s,runId:d,kind:"error"});return[{...n,errorText:l,errorDigest:S(l)}]}catch(l){return t.error("the codec could not write why a run was lost; the next pass tries",{runId:d,error:k(l).message.slice(0,200)}),[]}}i(Is,"withFailure");var Ye=class{static{i(this,"Heartbeat")}#e;#n=new Set;#t;#r;#i;#u;#o;constructor(e,t){this.#e=e,this.#t=t,this.#r=t}start(e){for(let r of e)this.#n.add(r);if(this.#n.size===0)return;let t=Math.max(10,Math.min(this.#e.beatMs,this.#e.leaseMs/10));this.#i=setInterval(()=>this.#s(),t),this.#o=this.#f([...this.#n])}remove(e){this.#n.delete(e),this.#n.size===0&&this.#a()}async stop(){this.#a(),this.#n.clear(),await this.#u,await this.#o}#a(){clearInterval(this.#i),this.#i=void 0}#c(){return{monotonicMs:this.#e.clock.monotonicMs(),wallMs:this.#e.clock.wallMs()}}#s(){let e=this.#c(),{leaseMs:t,beatMs:r}=this.#e;if(co(this.#t,e)>t*.9){this.#g("its own lease could not be extended in time");return}this.#u!==void 0||co(this.#r,e)<r||(this.#r=e,this.#u=this.#m(e).finally(()=>{this.#u=void 0}))}async#m(e){let{ledger:t,faults:r,leaseMs:o,log:a}=this.#e,s=[...this.#n];try{await r("worker.before-beat",`${s.length} claims`);let d=await t.deliveries.beatIfClaimed(s.map(m=>m.claim),o/1e3);this.#t=e;let l=s.filter(m=>d.has(`${m.claim.runId}:${m.claim.seq}`));for(let m of s)l.includes(m)||this.#p(m,"the ledger has given it to nobody or to another");let c=this.#o;this.#o=Promise.resolve(c).then(()=>this.#f(l))}catch(d){a.warn("a heartbeat failed",{claims:s.length,error:String(d).slice(0,200)})}}async#f(e){let{queue:t,queueName:r,leaseMs:o,log:a}=this.#e,s=e.filter(d=>this.#n.has(d)).flatMap(d=>d.receiptHandles);if(s.length!==0)try{let d=await t.changeVisibilities(r,s,Math.ceil(o/1e3));d.length>0&&a.warn("the visibility of messages could not be extended",{messages:d.length})}catch(d){a.warn("the visibility of messages could not be extended",{error:String(d).slice(0,200)})}}#g(e){for(let t of this.#n)this.#p(t,e)}#p(e,t){this.#n.delete(e)&&(this.#e.log.warn("a claim is fenced",{runId:e.claim.runId,enqueueSeq:e.claim.seq,why:t}),e.fence(t),this.#n.size===0&&this.#a())}};function co(n,e){return Math.max(e.monotonicMs-n.monotonicMs,e.wallMs-n.wallMs)}i(co,"since");async function mo(n,e,t){let r=new Map;for(let a of n){let s=qe(a.body);if(s===void 0)continue;let d=r.get(z(s));d===void 0?r.set(z(s),{...s,receiptHandles:[a.receiptHandle]}):d.receiptHandles.push(a.receiptHandle)}let o=await Ss(r,e,t);return Promise.all(n.map(async a=>{let s=qe(a.body);if(s===void 0)return e.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:a.messageId,bytes:Buffer.byteLength(a.body)}),{messageId:a.messageId,done:!1,reason:"poison"};let d=o.get(z(s))??{done:!1,reason:"unknown_outcome"};return d.retryInSeconds!==void 0&&await Os(a,d.retryInSeconds,e,t),{messageId:a.messageId,done:d.done,reason:d.reason}}))}i(mo,"work");async function Ss(n,e,t){let r=[...n.values()];if(r.length===0)return new Map;if(e.draining.aborted)return new Map(r.map(l=>[z(l),{done:!1,reason:"draining",retryInSeconds:1}]));let o=new Map,a={monotonicMs:e.clock.monotonicMs(),wallMs:e.clock.wallMs()},s;try{s=await Ds(r,e,t)}catch(l){e.log.error("a batch could not be claimed; its messages go back",{count:r.length,error:Xe(l)});let c={done:!1,reason:"unclaimed",retryInSeconds:vs};return new Map(r.map(m=>[z(m),c]))}for(let[l,c]of await qs(s,n,a,e,t)){let m=$s(l,c,e);m!==void 0&&o.set(z({runId:l.runId,enqueueSeq:l.seq}),m)}let d=r.filter(l=>!o.has(z(l)));for(let[l,c]of await Ns(d,e))o.set(l,c);return o}i(Ss,"carryAll");var vs=10;async function qs(n,e,t,r,o){let{limitMs:a,remainingMs:s}=o,{leaseMs:d,beatMs:l}=r.settings,c=new Ye({...r,leaseMs:d,beatMs:l,queueName:o.queue},t),m=n.map(v=>Cs(v,e.get(z({runId:v.runId,enqueueSeq:v.seq}))));c.start(m.map(v=>v.beating));let f=i(()=>m.forEach(v=>v.drain()),"drain");r.draining.addEventListener("abort",f,{once:!0}),r.draining.aborted&&f();let w=[],C=Promise.all(m.map(async v=>{let nn={limitMs:a,remainingMs:s,claimedAtMs:t.monotonicMs};w.push([v.claim,await lo(v.claim,r,nn,{onHop:v.onHop})]),c.remove(v.beating)})),me=await Rs(C,s()-r.settings.settleReserveMs/4);return r.draining.removeEventListener("abort",f),await c.stop(),me||r.exit(`${n.length-w.length} steps are in flight at the end of the invocation`),w}i(qs,"carryBatch");function Cs(n,e){let t,r,o=i(s=>{r=r==="fence"?r:s,t?.[s]()},"say"),a={claim:n,receiptHandles:e?.receiptHandles??[],fence:i(()=>o("fence"),"fence")};return{claim:n,beating:a,drain:i(()=>o("drain"),"drain"),onHop:i(s=>{t=s,r!==void 0&&s[r]()},"onHop")}}i(Cs,"carriedRun");async function Rs(n,e){let t,r=new Promise(o=>{t=setTimeout(()=>o(!1),Math.min(Math.max(0,e),As))});try{return await Promise.race([n.then(()=>!0),r])}finally{clearTimeout(t)}}i(Rs,"beforeTheEnd");var As=2147483647;function Ds(n,e,t){let r=Math.max(1,t.remainingMs()/1e3);return e.ledger.deliveries.claimIfDue(n.map(o=>({...o,token:e.ids.next()})),{worker:e.worker,leaseSeconds:e.settings.leaseMs/1e3,actsForSeconds:t.endsByForce?r+e.settings.actsMarginSeconds:null})}i(Ds,"claim");function $s(n,e,t){let r=t.logFor(n);switch(e.kind){case"settled":return r.info("run settled",{status:e.status,workflow:n.workflow.name}),{done:!0,reason:e.status};case"handed_over":return r.info("the run goes on in another hop",{why:e.why}),{done:!0,reason:"handed_over"};case"contained":return r.info("a contain delivery has ended",{outcome:e.outcome}),{done:!0,reason:`contain_${e.outcome}`};case"quarantined":return r.error("run quarantined",{reason:e.reason}),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:Xe(e.error)}),{done:!1,reason:"unknown_outcome"}}}i($s,"verdictOf");async function Ns(n,e){if(n.length===0)return[];try{let t=await e.ledger.deliveries.unclaimed(n),r=[...t].filter(([,o])=>o.deliveryStatus==="CLAIMED"&&(o.leaseEndsInSeconds??1)<=0);return r.length>0&&(await Qe({...e,pageSize:r.length},r.map(([o])=>o.slice(0,o.indexOf(":")))),t=await e.ledger.deliveries.unclaimed(n)),n.map(o=>{let a=bn(t.get(z(o))),{runId:s,enqueueSeq:d}=o;return e.log.info("a delivery was skipped",{runId:s,enqueueSeq:d,reason:a.reason}),[z(o),a.deleteMessage?{done:!0,reason:a.reason}:{done:!1,reason:a.reason,retryInSeconds:a.retryInSeconds}]})}catch(t){return e.log.error("skipped deliveries could not be read; their messages go back",{error:Xe(t)}),[]}}i(Ns,"explain");async function Os(n,e,t,r){try{await t.queue.changeVisibility(r.queue,n.receiptHandle,e)}catch(o){t.log.warn("a message's visibility could not be changed",{messageId:n.messageId,error:Xe(o)})}}i(Os,"putBack");function z(n){return`${n.runId}:${n.enqueueSeq}`}i(z,"keyOf");function Xe(n){let{name:e,message:t}=k(n);return`${e}: ${t}`.slice(0,300)}i(Xe,"nameOf");function Xn(n){return n.kind==="worker"?`worker-${n.key}`:`${n.kind}-${S(n.key).slice(0,12)}`}i(Xn,"itemId");function fo(n){return{id:Xn(n),kind:n.kind,subject:n.kind==="worker"?n.worker:Ls(n.key),enqueueSeq:n.seq,overAt:n.overAt?.toISOString()??null,createdAt:n.createdAt.toISOString(),acknowledgedAt:n.acknowledgedAt?.toISOString()??null,acknowledgedBy:n.acknowledgedBy,acknowledgement:n.acknowledgement}}i(fo,"itemView");function Ls(n){let[,,,e]=JSON.parse(n);return e}i(Ls,"stepOf");function po({ledger:n,settings:e}){return{cancel:i(async(t,r,o)=>{if(!P(r))throw ce();let a={tenantId:t.tenantId,runId:r},s=await n.runs.cancel(a,{actor:t.subject,reason:o},e.actsMarginSeconds);if(s===null)throw ce();return{runId:r,cancelled:s.cancelled,status:s.status}},"cancel"),resolve:i(async(t,r,o,a)=>{if(!P(r))throw ce();let s={tenantId:t.tenantId,runId:r},d=(await n.items.ofRun(s)).find(w=>w.acknowledgedAt===null&&Xn(w)===o);if(d===void 0)throw ce();let{kind:l,key:c}=d,m=await n.items.acknowledge(s,{kind:l,key:c,by:"operator",words:a},{actor:t.subject,reason:a});if(m===null)throw ce();let f=m.ended??(await n.runs.get(s))?.status;if(f===void 0)throw ce();return{runId:r,item:o,openItems:m.openItems,status:f}},"resolve")}}i(po,"createControl");function ce(){return new p("not_found","there is no such run, or no such open item of it",{fix:"Check the ids: `ghouls show <run id>` lists the items of a run."})}i(ce,"absent");function go(n){let{ledger:e,codec:t}=n;return{getRun:i(async(r,o)=>{if(!P(o))return;let a=await e.runs.get({tenantId:r,runId:o});return a===null?void 0:Ps(a,await e.items.ofRun({tenantId:r,runId:o}),t)},"getRun"),listRuns:i(async(r,o,a)=>{let{runs:s,nextCursor:d}=await e.runs.page(r,o,a);return{runs:s.map(yo),nextCursor:d}},"listRuns"),getTimeline:i(async(r,o)=>{if(!P(o))return;let a={tenantId:r,runId:o},s=await e.runs.get(a);if(s===null)return;let[d,l]=await Promise.all([e.deliveries.ofRun(a),e.journal.read(a)]);return{runId:o,status:s.status,entries:Ms(s,d,l)}},"getTimeline")}}i(go,"createReads");var Ze=i(n=>n?.toISOString()??null,"iso");function yo(n){let e=i(t=>t===null?null:{reason:t.reason,at:t.at.toISOString()},"flag");return{runId:n.runId,workflow:n.workflow,status:n.status,queue:n.queue,priority:n.priority,agent:n.agent,idempotencyKey:n.idempotencyKey,requestedBy:n.requestedBy,enqueueSeq:n.enqueueSeq,steps:n.journalLength,errorCode:n.errorCode,attention:e(n.attention),quarantine:e(n.quarantine),pausedAt:Ze(n.pausedAt),deadlineAt:Ze(n.deadlineAt),createdAt:n.createdAt.toISOString(),startedAt:Ze(n.startedAt),finishedAt:Ze(n.finishedAt)}}i(yo,"summaryOf");async function Ps(n,e,t){let{tenantId:r,runId:o}=n,a=i(async(s,d)=>s===null?null:JSON.parse(await t.decode(s,{tenantId:r,runId:o,kind:d})),"read");return{...yo(n),input:await a(n.inputText,"input"),output:await a(n.outputText,"output"),error:await a(n.errorText,"error"),containment:e.map(fo)}}i(Ps,"viewOf");function Ms(n,e,t){let r=[{kind:"admitted",at:n.createdAt.toISOString()}];for(let a of e)r.push(...js(a));for(let a of t)r.push({kind:"step",at:a.completedAt.toISOString(),enqueueSeq:a.seq,ordinal:a.ordinal,name:a.name,nth:a.nth,outcome:a.outcome,tries:a.tries,startedAt:a.startedAt.toISOString()});n.finishedAt!==null&&r.push({kind:"finished",at:n.finishedAt.toISOString(),status:n.status,errorCode:n.errorCode});let o=i(a=>Ts.indexOf(a.kind),"rank");return r.toSorted((a,s)=>a.at===s.at?o(a)-o(s):a.at<s.at?-1:1)}i(Ms,"timelineOf");var Ts=["admitted","delivery","published","claimed","step","worker_ended","fenced","settled","finished"];function js(n){let{seq:e,cause:t,status:r,publications:o}=n,a=[{kind:"delivery",at:n.createdAt.toISOString(),enqueueSeq:e,cause:t,status:r,dueAt:n.dueAt.toISOString()}];n.publishedAt!==null&&a.push({kind:"published",at:n.publishedAt.toISOString(),enqueueSeq:e,publications:o});let s=n.claimedBy??"unknown";if(n.claimedAt!==null&&a.push({kind:"claimed",at:n.claimedAt.toISOString(),enqueueSeq:e,worker:s}),n.workerEndedAt!==null){let d=n.workerEnd??"unknown";a.push({kind:"worker_ended",at:n.workerEndedAt.toISOString(),enqueueSeq:e,worker:s,how:d})}return n.settledAt!==null&&n.outcome!==null&&a.push({kind:"settled",at:n.settledAt.toISOString(),enqueueSeq:e,outcome:n.outcome}),n.fencedAt!==null&&a.push({kind:"fenced",at:n.fencedAt.toISOString(),enqueueSeq:e}),a}i(js,"ofDelivery");async function _o(n){let{ledger:e,faults:t,log:r}=n,o=await e.items.due(n.pageSize);o.length>0&&await t("containment.after-select",`${o.length} runs`);let[a,s]=[0,0];for(let d of o)try{let l=await e.items.contain(d,n.settings.maxContainDeliveries);await t("containment.after-look",d.runId),l.ended!==null?(a+=1,r.info("a run has ended, and nothing of it can act any more",{runId:d.runId,status:l.ended})):l.needsWord&&await e.runs.raiseAttention(d,"containment: something of the run waits for a word")}catch(l){s+=1,r.warn("a run's items could not be looked at",{runId:d.runId,error:String(l).slice(0,200)})}return{due:o.length,ended:a,failed:s}}i(_o,"contain");async function ho(n){let{ledger:e,queue:t,faults:r,log:o}=n,a=await e.deliveries.duePublications(n.pageSize);if(a.length===0)return{due:0,published:0,failed:0};await r("relay.after-select",`${a.length} due`);let{confirmed:s,failed:d}=await t.publish(a);await r("relay.after-publish",`${s.length} confirmed`),await e.deliveries.markPublished(s),await e.deliveries.markPublicationFailed(d);for(let{publication:c,reason:m}of d)o.warn("the relay could not publish a delivery",{runId:c.runId,reason:m});let l=new Set(s.map(c=>`${c.runId}:${c.enqueueSeq}`));for(let c of a)c.publications+1<cn||!l.has(`${c.runId}:${c.enqueueSeq}`)||await e.runs.raiseAttention(c,"unclaimed: published again and again, and claimed by no worker");return{due:a.length,published:s.length,failed:d.length}}i(ho,"relay");async function wo(n){return{reanimation:await Zn("reanimation",n,{lapsed:0,resumed:0,failing:0},()=>Qe(n),e),containment:await Zn("containment",n,{due:0,ended:0,failed:0},()=>_o(n),t=>t.ended>0&&t.due>=n.pageSize),relay:await Zn("relay",n,{due:0,published:0,failed:0},()=>ho(n),t=>t.published>0&&t.due>=n.pageSize)};function e(t){return t.lapsed>=n.pageSize&&t.resumed+t.failing>0}}i(wo,"reconcile");async function Zn(n,e,t,r,o){let a={...t},s=0;try{for(;e.remainingMs()>e.pageBudgetMs;){let d=await r();if(s+=1,a=zs(a,d),!o(d))break}return{...a,pages:s}}catch(d){return e.log.error("a pass was interrupted",{pass:n,error:String(d).slice(0,300)}),{...a,pages:s,error:d instanceof Error?d.name:"error"}}}i(Zn,"pass");function zs(n,e){let t=Object.keys(n);return Object.fromEntries(t.map(r=>[r,n[r]+e[r]]))}i(zs,"sum");var en=class{static{i(this,"Registry")}#e=new Map;#n=new Map;constructor(e){for(let t of e){let{name:r,version:o}=t.definition,a=`${r}@${o}`;if(this.#e.has(a))throw new p("configuration_invalid",`workflow "${r}" version ${o} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(a,t);let s=this.#n.get(r);(s===void 0||s.definition.version<o)&&this.#n.set(r,t)}}all(){return[...this.#e.values()]}pins(){return this.all().map(({definition:e,digest:t})=>({name:e.name,version:e.version,digest:t}))}choose(e,t){let r=t===void 0?this.#n.get(e):this.#e.get(`${e}@${t}`);if(r===void 0){let o=t===void 0?`"${e}"`:`"${e}" version ${t}`;throw new p("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(e){return this.#e.get(`${e.name}@${e.version}`)}};export{It as core,ko as engine,Pr as ledger};
