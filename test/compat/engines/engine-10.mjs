/* engine 10, frozen by test/compat/freeze.ts */
var ni=Object.defineProperty;var i=(t,e)=>ni(t,"name",{value:e,configurable:!0});var en=(t,e)=>{for(var n in e)ni(t,n,{get:e[n],enumerable:!0})};var ji={};en(ji,{API_KEY_BYTES:()=>kr,ARM_OWNERS:()=>hi,ATTEMPT_MOVES:()=>gi,BUILT_IN_ROLES:()=>Zl,CALL_KINDS:()=>It,CONSENT_MOVES:()=>_i,DEFAULT_QUEUE:()=>Dt,DEFAULT_QUEUES:()=>Ll,DELIVERY_CAUSES:()=>Gr,DELIVERY_MOVES:()=>fi,DELIVERY_OUTCOMES:()=>Fr,ERROR_CODES:()=>Ol,EgressEvent:()=>jl,FAULT_POINTS:()=>zl,GhoulsError:()=>y,JobReportShape:()=>Nt,LONGEST_RESIDENT_DELAY_MS:()=>un,MAX_DELAY_SECONDS:()=>ue,MAX_DEPTH:()=>Ot,MAX_FAILURE_MESSAGE:()=>nn,MAX_FAILURE_STACK:()=>ui,MAX_JOURNAL_BYTES:()=>Ie,MAX_MISSES:()=>tt,MAX_SUBMISSIONS:()=>yh,MAX_VALUE_BYTES:()=>Je,MOVES:()=>qt,NonRetryableError:()=>Oe,NotDoneError:()=>nt,ON_EXPIRY:()=>Re,OPEN_DELIVERY:()=>Ur,PARENT_CLOSE:()=>mn,PERMISSIONS:()=>an,PUBLICATIONS_BEFORE_ATTENTION:()=>Tr,PUBLICATION_DELAYS:()=>dn,PUBLISHER_GRACE_SECONDS:()=>le,QUEUE_NAME:()=>vt,QueueSettings:()=>ql,ROLE_NAME:()=>ec,RUN_FAILURE_CODES:()=>jr,RUN_MOVES:()=>pi,RandomStream:()=>Et,SKIP_REASONS:()=>dc,StepFailedError:()=>He,TimingSettings:()=>Pl,UnserializableError:()=>z,VERDICTS:()=>cn,afterExpiry:()=>Hr,callKey:()=>R,callerOf:()=>nc,canMove:()=>yi,canonicalText:()=>X,closingsOf:()=>Jr,decideSkip:()=>Wr,delayAfterFailure:()=>ic,delayAfterPublication:()=>oc,describeCall:()=>de,describeFailure:()=>S,diagram:()=>ac,durationMs:()=>B,formatMessage:()=>Yl,formatWake:()=>Xl,idempotencyKeyOf:()=>St,identityCodec:()=>qr,isDuration:()=>_e,isPermission:()=>Rr,isRunId:()=>F,isSameDigest:()=>Ke,isTerminalRun:()=>fe,judgeAnswer:()=>Be,judgeDecision:()=>Br,mintApiKey:()=>vl,namesRole:()=>Pt,namesSubject:()=>pn,nextAct:()=>xr,nextLookSeconds:()=>tn,noFaults:()=>Ir,noHint:()=>tc,notDone:()=>Rl,parkedAs:()=>Kr,parseApiKey:()=>br,parseJson:()=>Dr,parseMessage:()=>sn,parseWake:()=>Or,permissionsOf:()=>$r,principalIssues:()=>rc,queueUrlVariable:()=>Tl,readJobAnswer:()=>rn,readJobReport:()=>Ul,readSourceAnswer:()=>zr,resolveBackoff:()=>Mr,retryDelayMs:()=>Rt,serialize:()=>H,sha256:()=>v,sourcesOf:()=>ye,sqlStates:()=>E,statesOf:()=>P,terminalStatesOf:()=>pe,wire:()=>$e});import{timingSafeEqual as Sl}from"node:crypto";import{crc32 as Al}from"node:zlib";import{createHash as Il}from"node:crypto";function v(t){return Il("sha256").update(t,"utf8").digest("hex")}i(v,"sha256");var Cl=/^(ghouls_([0-9a-f]{16})_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/,wr=8,kr=wr+32;function vl(t){if(t.length!==kr)throw new TypeError(`a key is made of ${kr} random bytes`);let e=Buffer.from(t.subarray(0,wr)).toString("hex"),n=ii(BigInt(`0x${Buffer.from(t.subarray(wr)).toString("hex")}`),43),r=`ghouls_${e}_${n}`,o=`${r}${oi(r)}`;return{keyId:e,text:o,digest:ri(o)}}i(vl,"mintApiKey");function br(t){let[,e,n,r]=Cl.exec(t)??[];if(!(e===void 0||n===void 0||oi(e)!==r))return{keyId:n,digest:ri(t)}}i(br,"parseApiKey");function ri(t){return v(t)}i(ri,"digestOfKey");function Ke(t,e){let[n,r]=[Buffer.from(t),Buffer.from(e)];return n.length===r.length&&Sl(n,r)}i(Ke,"isSameDigest");function oi(t){return ii(BigInt(Al(t)),6)}i(oi,"checksumOf");var Dl="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";function ii(t,e){let n="";for(let r=t;n.length<e;r/=62n)n=`${Dl[Number(r%62n)]}${n}`;return n}i(ii,"base62");var tt=3,yh=5;function xr({status:t,traits:e,demand:n,unsent:r,acknowledged:o}){return t==="DEFINED"||r&&!o?n==="now"?"submit":n==="later"?"wait":"drop":n==="no"&&e.cancel!=="none"?"cancel":e.lookup==="none"?"wait":"lookUp"}i(xr,"nextAct");function Be(t,e){switch(e.state){case"succeeded":return{kind:"move",to:"SUCCEEDED",result:e.result};case"failed":return{kind:"move",to:"FAILED",error:e.error};case"accepted":return si(t,"SUBMITTED");case"running":return si(t,"RUNNING");case"cancelled":return t.late||t.traits.cancel==="final"?{kind:"move",to:"CANCELLED"}:{kind:"keep",missed:!1,why:"it is cancelled, but a submission may be on its way"};case"absent":return Nl(t);case"unsent":return{kind:"keep",missed:!0,why:e.why};case"unknown":return ai(t,e.why)}}i(Be,"judgeAnswer");function si(t,e){let{status:n,demand:r}=t,o=n==="RUNNING"||n===e;return r==="no"&&(o||n==="UNCERTAIN")?ai(t,"it is to be cancelled, and the service says that it has it still"):o?{kind:"keep",missed:!1,why:"the service has it"}:{kind:"move",to:e}}i(si,"judgeLife");function Nl(t){let{traits:e,late:n,acknowledged:r,demand:o,submissions:s}=t;return r?xt(t,"the service had it, and does not find it any more"):n?e.lookup!=="authoritative"?xt(t,"the service does not find it, which proves nothing"):o==="no"?{kind:"move",to:"CANCELLED"}:e.submit!=="idempotent"?xt(t,"it was not accepted, and may not be submitted twice"):s>=5?xt(t,`it was submitted ${s} times, and is not found`):o==="now"?{kind:"resubmit"}:{kind:"keep",missed:!1,why:"its run is under way"}:{kind:"keep",missed:!1,why:"it was asked about while a submission may be on its way"}}i(Nl,"judgeAbsence");function ai(t,e){return t.misses+1<3?{kind:"keep",missed:!0,why:e}:xt(t,e)}i(ai,"missed");function xt({status:t},e){return t==="UNCERTAIN"?{kind:"keep",missed:!0,why:e}:{kind:"move",to:"UNCERTAIN",why:e}}i(xt,"uncertain");function tn(t,e){return Math.min(Math.max(t,3600),t*2**Math.min(e,4))}i(tn,"nextLookSeconds");import{createHash as di}from"node:crypto";var It=["step","consent","delegate","child","sleep","signal"];function R(t){return JSON.stringify([t.epoch,t.scope,t.kind,t.name,t.nth])}i(R,"callKey");function de(t){let e=t.nth===1?"":` (use ${t.nth})`,n=t.scope===""?"":` in ${t.scope}`;return`${t.kind} "${t.name}"${e}${n}`}i(de,"describeCall");function St(t,e){return di("sha256").update(`ghouls-step-1
${t}
${R(e)}`).digest("hex")}i(St,"idempotencyKeyOf");var Et=class{static{i(this,"RandomStream")}#e;#n=0;constructor(e,n,r){this.#e=`ghouls-random-1
${JSON.stringify([e,n,r])}`}#t(){return this.#n+=1,di("sha256").update(`${this.#e}
${this.#n}`).digest()}random(){return Number(this.#t().readBigUInt64BE()>>11n)/2**53}uuid(){let e=this.#t().subarray(0,16);e[6]=e[6]&15|64,e[8]=e[8]&63|128;let n=e.toString("hex");return`${n.slice(0,8)}-${n.slice(8,12)}-${n.slice(12,16)}-${n.slice(16,20)}-${n.slice(20)}`}};var Ol=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","run_ended","consent_closed","consent_changed","not_a_decider","too_many_signals","attempt_settled","attempt_under_way","child_open","wrong_transaction","configuration_invalid","schema_outdated","integrity_fault","ledger_unavailable","outcome_unknown","queue_unavailable","codec_unavailable","internal"],y=class extends Error{static{i(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(e,n,r={}){super(n,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=e,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}},Oe=class extends Error{static{i(this,"NonRetryableError")}constructor(e,n){super(e,n),this.name="NonRetryableError"}},nt=class extends Error{static{i(this,"NotDoneError")}constructor(e){super(e instanceof Error?e.message:String(e),{cause:e}),this.name="NotDoneError"}};function Rl(t){return new nt(t)}i(Rl,"notDone");var He=class extends Error{static{i(this,"StepFailedError")}step;tries;failure;constructor(e,n,r){super(`step "${e}" failed after ${n===1?"1 try":`${n} tries`}: ${r.message}`),this.name="StepFailedError",this.step=e,this.tries=n,this.failure=r}},nn=2e3,ui=6e3;function S(t){try{if(t instanceof Error){let n=typeof t.stack=="string"?At(t.stack,ui):void 0;return{name:At(String(t.name),200),message:At(String(t.message),nn),...n===void 0?{}:{stack:n}}}if(typeof t=="string")return{name:"Error",message:At(`a string was thrown: ${t}`,nn)};if(t==null)return{name:"Error",message:`${String(t)} was thrown, not an Error`};let e=JSON.stringify(t,(n,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:At(`a value that is no Error was thrown: ${e??typeof t}`,nn)}}catch{return{name:"Error",message:`a value of type ${typeof t} that cannot be described was thrown`}}}i(S,"describeFailure");function At(t,e){return t.length<=e?t.toWellFormed():`${t.slice(0,e).toWellFormed()}\u2026 (${t.length-e} more characters)`}i(At,"bounded");var Er={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},$l=3650*Er.d;function _e(t){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(t);return e===null?!1:Number(e[1])*Er[e[2]]<=$l}i(_e,"isDuration");function B(t){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(t);if(e===null||!_e(t))throw new y("configuration_invalid",`"${String(t).slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(e[1])*Er[e[2]]}i(B,"durationMs");import*as M from"zod";import*as Ee from"zod";var Ct=Ee.string().refine(t=>_e(t),'write a whole number and a unit, such as "90s" or "15m"'),vt=/^[a-z][a-z0-9-]{0,31}$/,ql=Ee.strictObject({batchSize:Ee.int().min(1).max(10).default(5),concurrency:Ee.int().min(1).max(1e3).default(2),functionTimeout:Ct.refine(t=>!_e(t)||B(t)>=5e3&&B(t)<=432e5,'from "5s" to "12h"').default("15m")}),Pl=Ee.strictObject({lease:Ct.default("120s"),beat:Ct.default("30s"),actsMargin:Ct.default("60s"),maxLosses:Ee.int().min(1).max(100).default(3),deployOverlap:Ct.default("1h")}),Ll={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:2}},Dt="runs";function Tl(t){return`GHOULS_QUEUE_${t.toUpperCase().replaceAll("-","_")}_URL`}i(Tl,"queueUrlVariable");var li={tenantId:M.string(),runId:M.string(),attemptId:M.string(),idempotencyKey:M.string()},Ml=M.discriminatedUnion("kind",[M.strictObject({kind:M.literal("submit"),job:M.strictObject({...li,requestText:M.string(),callback:M.strictObject({url:M.string(),token:M.string()}).nullable()})}),M.strictObject({kind:M.enum(["lookUp","cancel"]),job:M.strictObject(li)})]),jl=M.strictObject({service:M.string().regex(vt),question:Ml,timeoutMs:M.int().min(1),untilMs:M.int()});var zl=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","secrets.before-read","secrets.after-read","queue.before-publish","queue.after-publish","queue.before-receive","queue.after-receive","queue.before-visibility","queue.after-visibility","queue.before-delete","queue.after-delete","admission.after-commit","admission.after-publish","worker.after-claim","worker.before-beat","worker.before-intent","worker.after-intent","worker.before-step","worker.after-step","worker.after-journal","worker.before-child","worker.after-child","worker.before-tell-parent","worker.after-tell-parent","worker.before-handover","worker.before-adopt","worker.before-park","worker.after-park","worker.before-restart","worker.after-restart","worker.after-wake","timers.after-select","timers.after-resume","deadlines.after-select","deadlines.after-failure","consents.after-commit","consents.after-select","consents.after-look","signals.after-commit","delegate.before-claim","delegate.after-claim","delegate.after-submit","delegate.after-answer","delegates.after-select","delegates.after-look","callbacks.after-commit","worker.after-handover","worker.before-settle","worker.after-settle","worker.before-replay-check","worker.after-replay-check","relay.after-select","relay.after-publish","reanimation.after-select","reanimation.after-judgement","containment.after-select","containment.after-look","containment.after-cancel","children.after-select","children.after-tell","holds.after-select","holds.after-expiry","egress.before-ask","egress.after-ask","hint.before-read","hint.after-read","hint.before-lower","hint.after-lower","hint.before-raise","hint.after-raise"],Ir=i(()=>{},"noFaults");import*as j from"zod";var Fl=2e3,Sr=i(t=>j.object({state:j.literal(t)}),"simple"),Nt=j.discriminatedUnion("state",[Sr("accepted"),Sr("running"),Sr("cancelled"),j.object({state:j.literal("succeeded"),result:j.unknown().optional()}),j.object({state:j.literal("failed"),error:j.object({code:j.string(),message:j.string()})})]),Gl=j.discriminatedUnion("state",[...Nt.options,j.object({state:j.literal("absent")}),j.object({state:j.enum(["unsent","unknown"]),why:j.string().transform(t=>t.slice(0,Fl))})]);function Ul(t){return Nt.safeParse(t).data}i(Ul,"readJobReport");function rn(t){let{data:e,error:n}=Gl.safeParse(t);if(e!==void 0)return e;let[r]=n.issues,o=r?.path.join(".")??"";return{state:"unknown",why:`the adapter answered what is no answer: ${o===""?"":`${o}: `}${r?.message}`}}i(rn,"readJobAnswer");var Ot=100,Wl=new Set(["__proto__","constructor","prototype"]),vr=JSON,Kl=JSON.parse;function Dr(t){if(Bl(t)>Ot)throw new y("malformed_json",`the document is nested more than ${Ot} levels deep`,{fix:"Flatten the document, or send it as one string."});let e;try{e=Kl(t,(r,o,s)=>typeof o=="number"?vr.rawJSON(s.source??String(o)):o)}catch(r){throw new y("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let n=[];if(Ar(e,"",n),n.length>0)throw new y("invalid_request","the document holds values that cannot be kept unchanged",{issues:n,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(t),canonical:X(e),member:i(r=>{if(!(typeof e!="object"||e===null||!Object.hasOwn(e,r)))return X(e[r])},"member")}}i(Dr,"parseJson");function Bl(t){let e=0,n=0,r=!1;for(let o=0;o<t.length;o+=1){let s=t.charCodeAt(o);r?s===92?o+=1:s===34&&(r=!1):s===34?r=!0:s===91||s===123?n=Math.max(n,e+=1):(s===93||s===125)&&(e-=1)}return n}i(Bl,"nestingOf");function Ar(t,e,n){if(!(n.length>=20)){if(typeof t=="string"){let r=ci(t);r!==void 0&&n.push({path:e,message:r});return}if(!(typeof t!="object"||t===null)){if(vr.isRawJSON(t)){let r=Number(JSON.stringify(t));Math.abs(r)>Number.MAX_SAFE_INTEGER&&n.push({path:e,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(t)){t.forEach((r,o)=>Ar(r,`${e}/${o}`,n));return}for(let[r,o]of Object.entries(t)){let s=`${e}/${r.slice(0,100).toWellFormed()}`;Wl.has(r)&&n.push({path:s,message:"this key is not allowed"});let a=ci(r);a!==void 0&&n.push({path:s,message:`the key: ${a}`}),Ar(o,s,n)}}}}i(Ar,"inspect");function ci(t){if(t.includes("\0"))return"text with a NUL character is not taken";if(!t.isWellFormed())return"text with a lone surrogate is not taken"}i(ci,"textProblem");function X(t){return JSON.stringify(Cr(t))}i(X,"canonicalText");function Cr(t){if(typeof t!="object"||t===null||vr.isRawJSON(t))return t;if(Array.isArray(t))return t.map(Cr);let e=Object.entries(t).toSorted(([n],[r])=>n<r?-1:1);return Object.fromEntries(e.map(([n,r])=>[n,Cr(r)]))}i(Cr,"sorted");var z=class extends Error{static{i(this,"UnserializableError")}reason;constructor(e,n){super(n),this.name="UnserializableError",this.reason=e}},Je=1048576,Ie=32*1048576;function H(t,e=Je){if(t===void 0)return;let n;try{n=JSON.stringify(on(t,"",[]))}catch(o){throw o instanceof z?o:new z("unserializable",`it cannot be turned into JSON: ${S(o).message.slice(0,500)}`)}let r=Buffer.byteLength(n);if(r>e)throw new z("too_large",`it is ${r} bytes of JSON, the limit is ${e}`);return n}i(H,"serialize");function on(t,e,n){let r=e===""?"the value":`the value at ${e}`,o=i(d=>new z("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof t){case"string":case"boolean":return t;case"number":if(!Number.isFinite(t))throw o(String(t));return t;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof t}`);case"object":}if(t===null)return null;if(n.includes(t))throw o("a cycle");if(n.length>Ot)throw o(`nested more than ${Ot} levels deep`);let s=[...n,t];if(t instanceof Date&&Number.isNaN(t.getTime()))throw o("an invalid Date");if("toJSON"in t&&typeof t.toJSON=="function"){let d=t.toJSON("");if(d===t)throw o("a cycle of toJSON");return on(d,e,s)}if(Array.isArray(t))return Array.from(t,(d,u)=>on(d,`${e}/${u}`,s));if(!Hl(t))throw o(`a ${t.constructor?.name??"class instance"}`);let a={};for(let[d,u]of Object.entries(t))u!==void 0&&Object.defineProperty(a,d,{value:on(u,`${e}/${d.slice(0,100)}`,s),enumerable:!0,configurable:!0,writable:!0});return a}i(on,"plain");function Hl(t){let e=Object.getPrototypeOf(t);return e===null||e===Object.prototype?!0:Object.getPrototypeOf(e)===null&&t.constructor?.name==="Object"}i(Hl,"isPlainObject");var Nr="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",Jl=new RegExp(`^${Nr}$`),Vl=new RegExp(`^run:(${Nr}):([1-9]\\d{0,8})$`),Ql=new RegExp(`^wake:(${Nr})$`);function F(t){return Jl.test(t)}i(F,"isRunId");function Yl(t){return`run:${t.runId}:${t.enqueueSeq}`}i(Yl,"formatMessage");function sn(t){let e=Vl.exec(t);if(e!==null)return{runId:e[1],enqueueSeq:Number(e[2])}}i(sn,"parseMessage");function Xl(t){return`wake:${t}`}i(Xl,"formatWake");function Or(t){return Ql.exec(t)?.[1]}i(Or,"parseWake");var an=["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","signals:send","consents:read","consents:decide","attempts:read","attempts:resolve","workflows:read"],Zl={admin:an,operator:["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","signals:send","consents:read","attempts:read","attempts:resolve","workflows:read"],submitter:["runs:submit","runs:read","runs:release","runs:cancel","signals:send","consents:read","attempts:read","workflows:read"],decider:["runs:read","consents:read","consents:decide","attempts:read","workflows:read"],viewer:["runs:read","consents:read","attempts:read","workflows:read"]},ec=/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;function Rr(t){return an.includes(t)}i(Rr,"isPermission");function $r(t,e){let n=t.roles.flatMap(o=>Object.hasOwn(e,o)?e[o]??[]:[]),r=new Set([...n,...t.permissions??[]]);return an.filter(o=>r.has(o))}i($r,"permissionsOf");var qr={encode:i(t=>Promise.resolve(t),"encode"),decode:i(t=>Promise.resolve(t),"decode")},ue=900,tc={keeps:!1,read:i(()=>Promise.resolve(void 0),"read"),lower:i(()=>Promise.resolve(),"lower"),raise:i(()=>Promise.resolve(!1),"raise")};function nc(t,e){let{tenantId:n,subject:r}=t;return{tenantId:n,subject:r,roles:t.roles,permissions:$r(t,e)}}i(nc,"callerOf");function rc(t){let e=typeof t=="object"&&t!==null?t:{},n=i((r,o)=>({path:`/principal/${r}`,message:o}),"issue");return[...["tenantId","subject"].filter(r=>typeof e[r]!="string"||e[r]==="").map(r=>n(r,"is missing")),...mi(e.roles)?[]:[n("roles","is no list of names")],...e.permissions===void 0||mi(e.permissions)?[]:[n("permissions","is no list of names")]]}i(rc,"principalIssues");function mi(t){return Array.isArray(t)&&t.every(e=>typeof e=="string")}i(mi,"isTexts");var le=15,Pr=[60,120,300,600,1800,3600],Lr=[5,10,30,60,120,300],Tr=5;function oc(t){return Pr[Math.min(Math.max(t,1),Pr.length)-1]}i(oc,"delayAfterPublication");function ic(t){return Lr[Math.min(Math.max(t,1),Lr.length)-1]}i(ic,"delayAfterFailure");var dn={afterSuccess:Pr,afterFailure:Lr};var un=1e4;function Mr(t={}){let e=B(t.initial??"200ms"),n={initialMs:e,factor:t.factor??2,maxMs:t.max===void 0?Math.max(un,e):B(t.max)};if(!(n.factor>=1&&n.factor<=100))throw new y("configuration_invalid",`a backoff factor of ${String(t.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});return n}i(Mr,"resolveBackoff");function Rt(t,e,n){let r=Math.min(t.maxMs,t.initialMs*t.factor**(e-2));return Math.round(r/2+r/2*n)}i(Rt,"retryDelayMs");var jr=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time","no_progress","ghoul_lost","effect_unknown","hold_expired"];import*as ce from"zod";var sc=ce.discriminatedUnion("outcome",[ce.object({outcome:ce.literal("pending")}),ce.object({outcome:ce.enum(["grant","deny"]),by:ce.string().min(1).max(200),comment:ce.string().max(4e3).optional()})]);function zr(t){let{data:e,error:n}=sc.safeParse(t);if(n!==void 0){let[a]=n.issues,d=a?.path.join(".")??"";throw new Error(`it answered what is no decision: ${d===""?"":`${d}: `}${a?.message}`)}if(e.outcome==="pending")return{outcome:e.outcome};let{outcome:r,by:o,comment:s}=e;return{outcome:r,by:o,...s===void 0?{}:{comment:s}}}i(zr,"readSourceAnswer");var $t=["QUEUED","FAILING","CANCELLING"],pi={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:$t,AWAITING_DELEGATE:$t,AWAITING_CHILD:$t,AWAITING_SIGNAL:$t,AWAITING_TIMER:$t,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},fi={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},ln=["SUCCEEDED","FAILED","CANCELLED"],gi={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...ln,"UNCERTAIN"],SUBMITTED:["RUNNING",...ln,"UNCERTAIN"],RUNNING:[...ln,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...ln],SUCCEEDED:[],FAILED:[],CANCELLED:[]},_i={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},qt={run:pi,delivery:fi,attempt:gi,consent:_i},Fr=["done","failed","parked","continued","lost","given_back","refused"],Gr=["admitted","resumed","continued","recovered","contain"];function P(t){return Object.keys(qt[t])}i(P,"statesOf");function yi(t,e,n){return qt[t][e]?.includes(n)??!1}i(yi,"canMove");function ye(t,e){return P(t).filter(n=>yi(t,n,e))}i(ye,"sourcesOf");function pe(t){return P(t).filter(e=>(qt[t][e]??[]).length===0)}i(pe,"terminalStatesOf");var Ur=P("delivery").filter(t=>!pe("delivery").includes(t));function fe(t){return pe("run").includes(t)}i(fe,"isTerminalRun");function E(t){for(let e of t)if(!/^[A-Z_]+$/.test(e))throw new TypeError(`not a state: ${e}`);return t.map(e=>`'${e}'`).join(", ")}i(E,"sqlStates");function ac(t){let e=Object.entries(qt[t]).flatMap(([n,r])=>r.length===0?[`    ${n} --> [*]`]:r.map(o=>`    ${n} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${P(t)[0]}`,...e].join(`
`)}i(ac,"diagram");var dc=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],uc=43e3,rt=i(t=>({reason:t,deleteMessage:!0,retryInSeconds:0}),"gone"),ot=i((t,e)=>({reason:t,deleteMessage:!1,retryInSeconds:Math.min(uc,Math.max(1,Math.ceil(e)))}),"back");function Wr(t){return t===void 0?ot("unknown",30):fe(t.runStatus)?rt("terminal"):t.deliveryStatus==="SETTLED"?rt("settled"):t.deliveryStatus==="FENCED"?rt("fenced"):t.seq<t.currentSeq?rt("superseded"):t.deliveryStatus==="CLAIMED"?ot("claimed",Math.max(5,t.leaseEndsInSeconds??30)):t.deliveryStatus==="HELD"?ot("held",30):t.quarantined?rt("quarantined"):t.paused?rt("paused"):t.runStatus!=="QUEUED"&&t.cause!=="contain"?ot("ending",30):t.dueInSeconds>0?ot("early",t.dueInSeconds):ot("contended",2)}i(Wr,"decideSkip");var Re=["expire","grant","deny"],cn=["grant","deny"],mn=["cancel","wait","abandon"],hi=["consent","delegate","child","signal","timer"],lc={consent:"AWAITING_CONSENT",delegate:"AWAITING_DELEGATE",child:"AWAITING_CHILD",signal:"AWAITING_SIGNAL",timer:"AWAITING_TIMER"};function Kr(t){let e=hi.find(n=>t.includes(n));if(e===void 0)throw new TypeError("a run is parked on at least one arm");return lc[e]}i(Kr,"parkedAs");function Br(t,e,n=!1){if(!n){if(!cc(t.deciders,e))return{kind:"not_a_decider"};if(e.subject===t.requestedBy&&!t.requesterMayDecide)return{kind:"requester"}}if(e.digest!==t.requestDigest)return{kind:"changed"};let r=t.decisions.find(({by:s})=>s===e.subject);if(t.status==="PENDING"&&t.expired)return{kind:"expired"};if(r?.verdict===e.verdict)return{kind:"repeated",status:t.status};if(t.status!=="PENDING")return{kind:"closed",status:t.status,by:t.closedBy??"unknown"};if(r!==void 0)return{kind:"contradicts",verdict:r.verdict};if(e.verdict==="deny")return{kind:"counts",becomes:"DENIED"};let o=t.decisions.filter(({verdict:s})=>s==="grant").length+1;return{kind:"counts",becomes:n||o>=t.quorum?"GRANTED":"PENDING"}}i(Br,"judgeDecision");function Pt(t){return t.startsWith("role:")}i(Pt,"namesRole");function pn(t,e){return!Pt(t)&&(t===e||t===`user:${e}`)}i(pn,"namesSubject");function cc(t,e){return t.some(r=>pn(r,e.subject))||e.roles.some(r=>t.includes(`role:${r}`))}i(cc,"isDecider");function Hr(t){return t==="grant"?"GRANTED":t==="deny"?"DENIED":"EXPIRED"}i(Hr,"afterExpiry");function Jr(t){let e=new Set;return t.flatMap(n=>{let{armId:r,consent:o}=n;if(o!==void 0){if(o.status==="PENDING"||o.status==="CANCELLED")return[];let{consentId:d,status:u,closedBy:l,decisions:c}=o;return[{armId:r,resultText:JSON.stringify({outcome:u,consentId:d,by:l??"unknown",decisions:c})}]}if(n.attempt!==void 0)return mc(r,n.attempt);if(n.child!==void 0)return pc(r,n.child);let s=n.signals?.find(({signalId:d})=>!e.has(d));if(s!==void 0){e.add(s.signalId);let{signalId:d,from:u,at:l,payload:c}=s;return[{armId:r,signalId:d,resultText:JSON.stringify({outcome:"RECEIVED",payload:c,from:u,at:l})}]}if(!n.due)return[];if(n.retry)return[{armId:r,resultText:null}];let a=n.owner==="signal"?"TIMED_OUT":"ELAPSED";return[{armId:r,resultText:JSON.stringify({outcome:a})}]})}i(Jr,"closingsOf");function mc(t,e){let{attemptId:n,status:r,overdue:o,report:s,digest:a}=e,d=i(u=>[{armId:t,resultText:JSON.stringify({attemptId:n,...u})}],"close");return r==="SUCCEEDED"||r==="FAILED"?d({outcome:r,report:s,digest:a}):r==="CANCELLED"?d({outcome:o?"DEADLINE":"CANCELLED"}):[]}i(mc,"attemptClosing");function pc(t,e){let{runId:n,status:r,text:o,digest:s}=e,a=i(d=>[{armId:t,resultText:JSON.stringify({runId:n,...d})}],"close");return r==="DONE"||r==="FAILED"?a({outcome:r,text:o,digest:s}):r==="CANCELLED"?a({outcome:r}):[]}i(pc,"childClosing");var $e={};en($e,{Admitted:()=>Ai,AttemptPage:()=>wc,AttemptResolution:()=>Ic,AttemptResolved:()=>Sc,AttemptSummary:()=>Di,AttemptView:()=>hc,BatchAdmitted:()=>_c,BatchItem:()=>Si,BatchOutcome:()=>Ci,BatchRequest:()=>gc,CALLBACK_TOKEN:()=>xc,CALLBACK_TOKEN_HEADER:()=>bc,Cancelled:()=>Cc,Cleared:()=>Dc,ConsentPage:()=>Oc,ConsentSummary:()=>$i,ConsentView:()=>Nc,ContainmentItem:()=>Li,Decided:()=>$c,DecisionRequest:()=>Rc,IdempotencyKey:()=>Ei,JobReport:()=>kc,MAX_BATCH:()=>fn,MAX_BODY_BYTES:()=>ki,MAX_PAGE:()=>bi,OpenWait:()=>Vr,Problem:()=>Gc,ReasonRequest:()=>Ac,Released:()=>yc,Reported:()=>Ec,Resolved:()=>vc,RunError:()=>Pi,RunPage:()=>jc,RunRequest:()=>Ii,RunSummary:()=>Qr,RunView:()=>Mc,SIGNAL_NAME:()=>qc,SIGNAL_NAME_RULE:()=>Pc,SignalRequest:()=>Lc,Signalled:()=>Tc,Timeline:()=>zc,TimelineEntry:()=>Ti,WORKFLOW_NAME:()=>xi,WorkflowList:()=>Fc,WorkflowRef:()=>Lt,WorkflowView:()=>Mi});import*as te from"zod";import*as wi from"zod";var ki=1048576,fn=100,bi=200,D=wi.iso.datetime();import*as C from"zod";var xi=/^[a-z0-9][a-z0-9._-]{0,99}$/i,fc=C.string().regex(xi,'letters, digits, ".", "_" and "-", at most 100'),Ei=C.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),Ii=C.strictObject({workflow:fc.optional(),version:C.int().min(1).max(1e6).optional(),input:C.unknown().optional(),queue:C.string().regex(vt).optional(),priority:C.int().min(0).max(9).optional(),agent:C.string().min(1).max(200).optional(),held:C.boolean().optional(),holdFor:C.string().refine(_e,'such as "10m"').optional(),startAfter:C.string().refine(t=>_e(t)||D.safeParse(t).success,'such as "2h" or "2030-01-31T08:00:00Z"').optional()}),Si=Ii.extend({idempotencyKey:Ei.optional()}),gc=C.strictObject({runs:C.array(Si).min(1).max(fn)}),Lt=C.object({name:C.string(),version:C.int(),digest:C.string()}),Ai=C.object({runId:C.string(),created:C.boolean(),status:C.enum(P("run")),enqueueSeq:C.int(),workflow:Lt,queue:C.string(),priority:C.int(),held:C.boolean(),startsAt:D.nullable()}),Ci=C.discriminatedUnion("outcome",[C.object({outcome:C.literal("admitted"),run:Ai}),C.object({outcome:C.literal("conflict"),idempotencyKey:C.string(),detail:C.string()})]),_c=C.object({runs:C.array(Ci)}),yc=C.object({runId:C.string(),enqueueSeq:C.int(),released:C.boolean()});import*as A from"zod";var vi={attemptId:A.string(),runId:A.string(),workflow:A.string(),name:A.string(),status:A.enum(P("attempt")),service:A.string(),executor:A.object({adapter:A.string(),version:A.string(),digest:A.string()}),digest:A.string(),idempotencyKey:A.string(),submissions:A.int(),uncertain:A.string().nullable(),trouble:A.object({why:A.string(),at:D}).nullable(),cancelling:A.enum(["deadline","ended","restart"]).nullable(),contradiction:A.string().nullable(),createdAt:D,acknowledgedAt:D.nullable(),heartbeatAt:D.nullable(),deadlineAt:D.nullable(),nextLookAt:D.nullable(),closedAt:D.nullable(),closedBy:A.string().nullable()},Di=A.object(vi),Ni=A.object({code:A.string(),message:A.string()}),hc=A.object({...vi,request:A.unknown(),result:A.unknown(),error:Ni.nullable()}),wc=A.object({attempts:A.array(Di),nextCursor:A.string().nullable()}),kc=Nt,bc="ghouls-callback-token",xc=/^[A-Za-z0-9_-]{43}$/,Ec=A.object({attemptId:A.string(),status:A.enum(P("attempt"))}),Ic=A.strictObject({outcome:A.enum(["succeeded","failed","cancelled"]),result:A.unknown().optional(),error:Ni.extend({code:A.string().min(1).max(200),message:A.string().max(2e3)}).optional(),reason:A.string().trim().min(1).max(1e3)}).refine(t=>t.outcome!=="succeeded"||"result"in t,{path:["result"],message:"say what it gave: a word stands (null where it gives nothing)"}),Sc=A.object({attemptId:A.string(),runId:A.string(),status:A.enum(P("attempt")),resumed:A.boolean()});import*as U from"zod";var Ac=U.strictObject({reason:U.string().trim().min(1).max(1e3)}),Cc=U.object({runId:U.string(),cancelled:U.boolean(),status:U.enum(P("run"))}),vc=U.object({runId:U.string(),item:U.string(),openItems:U.int(),status:U.enum(P("run"))}),Dc=U.object({runId:U.string(),cleared:U.boolean(),status:U.enum(P("run"))});import*as _ from"zod";import*as I from"zod";var Oi={consentId:I.string(),runId:I.string(),workflow:I.string(),title:I.string(),status:I.enum(P("consent")),digest:I.string(),deciders:I.array(I.string()),quorum:I.int(),requestedBy:I.string(),requesterMayDecide:I.boolean(),onExpiry:I.enum(Re),source:I.string().nullable(),createdAt:D,expiresAt:D.nullable(),closedAt:D.nullable(),closedBy:I.string().nullable()},Ri={by:I.string(),verdict:I.enum(cn),at:D},Nc=I.object({...Oi,detail:I.unknown(),decisions:I.array(I.object({...Ri,comment:I.string().nullable()}))}),$i=I.object({...Oi,decisions:I.array(I.object(Ri)),problem:I.string().nullable()}),Oc=I.object({consents:I.array($i),nextCursor:I.string().nullable()}),Rc=I.strictObject({verdict:I.enum(cn),digest:I.string().min(1).max(200),comment:I.string().trim().min(1).max(4e3).optional()}),$c=I.object({consentId:I.string(),runId:I.string(),status:I.enum(P("consent")),repeated:I.boolean(),resumed:I.boolean()}),qc=/^(?!\.{1,2}$)[\x21-\x7e][\x20-\x7e]{0,199}$/,Pc='printable ASCII of 1 to 200 characters that begins with no space, and neither "." nor ".."',Lc=I.strictObject({payload:I.unknown().optional()}),Tc=I.object({runId:I.string(),signalId:I.string(),repeated:I.boolean(),resumed:I.boolean()}),Vr=I.object({kind:I.enum(It),name:I.string(),scope:I.string(),dueAt:D.nullable(),consentId:I.string().nullable(),attemptId:I.string().nullable(),childRunId:I.string().nullable()});var qi=_.object({reason:_.string(),at:D}),Qr=_.object({runId:_.string(),parentRunId:_.string().nullable(),workflow:Lt,status:_.enum(P("run")),queue:_.string(),priority:_.int(),agent:_.string().nullable(),idempotencyKey:_.string().nullable(),requestedBy:_.string(),enqueueSeq:_.int(),steps:_.int(),errorCode:_.string().nullable(),attention:qi.nullable(),quarantine:qi.nullable(),pausedAt:D.nullable(),deadlineAt:D.nullable(),createdAt:D,startsAt:D.nullable(),startedAt:D.nullable(),finishedAt:D.nullable()}),Pi=_.object({code:_.enum(jr),name:_.string(),message:_.string(),stack:_.string().optional(),step:_.string().optional()}),Li=_.object({id:_.string(),kind:_.enum(["worker","effect","attempt","child"]),subject:_.string(),enqueueSeq:_.int(),overAt:D.nullable(),createdAt:D,acknowledgedAt:D.nullable(),acknowledgedBy:_.string().nullable(),acknowledgement:_.string().nullable()}),Mc=Qr.extend({waits:_.array(Vr),input:_.unknown(),output:_.unknown(),error:Pi.nullable(),containment:_.array(Li)}),jc=_.object({runs:_.array(Qr),nextCursor:_.string().nullable()}),Ti=_.discriminatedUnion("kind",[_.object({kind:_.literal("admitted"),at:D}),_.object({kind:_.literal("delivery"),at:D,enqueueSeq:_.int(),cause:_.enum(Gr),status:_.enum(P("delivery")),dueAt:D}),_.object({kind:_.literal("published"),at:D,enqueueSeq:_.int(),publications:_.int()}),_.object({kind:_.literal("claimed"),at:D,enqueueSeq:_.int(),worker:_.string()}),_.object({kind:_.literal("step"),at:D,enqueueSeq:_.int(),ordinal:_.int(),call:_.enum(It),name:_.string(),scope:_.string(),nth:_.int(),outcome:_.enum(["ok","error"]),tries:_.int(),startedAt:D}),_.object({kind:_.literal("worker_ended"),at:D,enqueueSeq:_.int(),worker:_.string(),how:_.string()}),_.object({kind:_.literal("settled"),at:D,enqueueSeq:_.int(),outcome:_.enum(Fr)}),_.object({kind:_.literal("fenced"),at:D,enqueueSeq:_.int()}),_.object({kind:_.literal("finished"),at:D,status:_.enum(P("run")),errorCode:_.string().nullable()})]),zc=_.object({runId:_.string(),status:_.enum(P("run")),entries:_.array(Ti)}),Mi=Lt.extend({queue:_.string(),onWorkerLoss:_.enum(["resume","fail"]),inputSchema:_.unknown(),outputSchema:_.unknown()}),Fc=_.object({workflows:_.array(Mi)});var Gc=te.object({type:te.string(),title:te.string(),status:te.int(),detail:te.string(),fix:te.string().optional(),requestId:te.string(),errors:te.array(te.object({path:te.string(),message:te.string()})).optional()});var bd={};en(bd,{DEFAULT_APPLICATION_ROLE:()=>Eo,DEFAULT_SCHEMA:()=>it,DRIVERS:()=>Vi,LedgerError:()=>L,MAX_BUFFERED_SIGNALS:()=>Bt,createRoles:()=>kd,executorOn:()=>yn,inCallersTransaction:()=>hn,migrate:()=>hd,migrationSql:()=>yd,openLedger:()=>pd,readRunsById:()=>gn,readRunsByKey:()=>at,rolesSql:()=>So});var zi=new Map,it="ghouls",Uc=/^[a-z_][a-z0-9_]{0,39}$/;function h(t,e){return Fi({name:t,text:Gi(t,e),writes:!1})}i(h,"readStatement");function g(t,e){return Fi({name:t,text:Gi(t,e),writes:!0})}i(g,"writeStatement");function Fi(t){if(zi.has(t.name))throw new TypeError(`two statements are called ${t.name}`);return zi.set(t.name,t),t}i(Fi,"listed");function Gi(t,e){return`/* ${t} */
${e.trim()}`}i(Gi,"tagged");function st(t,e){if(!Uc.test(t))throw new TypeError(`${e} "${t.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}i(st,"assertIdentifier");function Ve(t,e){return st(e,"the schema name"),t.replace(/\bghouls\./g,`${e}.`)}i(Ve,"bindSchema");function f(t){let e=i((a,d)=>new TypeError(`column ${a} is ${typeof t[a]}, ${d} was expected`),"fail"),n=i(a=>{let d=t[a];if(typeof d!="string")throw e(a,"text");return d},"text"),r=i(a=>{let d=t[a],u=typeof d=="string"?Number(d):d;if(typeof u!="number"||!Number.isFinite(u))throw e(a,"a number");return u},"number"),o=i(a=>{let d=t[a];if(!(d instanceof Date))throw e(a,"a time");return d},"date"),s=i(a=>d=>t[d]===null?null:a(d),"orNull");return{text:n,textOrNull:s(n),texts:i(a=>{let d=t[a];if(!Array.isArray(d)||!d.every(u=>typeof u=="string"))throw e(a,"a list of texts");return d},"texts"),number:r,numberOrNull:s(r),boolean:i(a=>{let d=t[a];if(typeof d!="boolean")throw e(a,"a boolean");return d},"boolean"),date:o,dateOrNull:s(o)}}i(f,"rows");var Wc=g("runs.admit",`
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.*, greatest(ghouls.clock(), t.start_at, ghouls.clock() + t.start_ms * interval '1 millisecond') as starts_at
  from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[], $20::text[], $21::double precision[], $22::timestamptz[]
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, on_worker_loss, start_ms, start_at, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at, on_worker_loss, starts_at)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    q.starts_at + q.deadline_ms * interval '1 millisecond', ghouls.clock(), q.on_worker_loss,
    case when q.starts_at > ghouls.clock() then q.starts_at end
  from request q
  on conflict do nothing
  returning tenant_id, run_id, enqueue_seq, queue, priority
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, hold_expires_at,
    next_publication_at, created_at)
  select run.tenant_id, run.run_id, run.enqueue_seq, 'admitted', case when q.held then 'HELD' else 'PENDING' end,
    run.queue, run.priority, q.starts_at,
    case when q.held then ghouls.clock() + q.hold_ms * interval '1 millisecond' end,
    case when not q.held then
      q.starts_at + case when q.starts_at - ghouls.clock() <= $23::double precision * interval '1 second'
        then $19::double precision else 0 end * interval '1 second'
    end,
    ghouls.clock()
  from run join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  returning run_id
)
select delivery.run_id, case when q.starts_at > ghouls.clock() then q.starts_at end as starts_at,
  extract(epoch from q.starts_at - ghouls.clock())::double precision as due_in
from delivery
join request q on q.run_id = delivery.run_id`),Ui=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished, run.starts_at,
  greatest(0, extract(epoch from d.due_at - ghouls.clock()))::double precision as due_in`,Kc=h("runs.by-key",`
select ${Ui}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),Bc=h("runs.by-id",`
select ${Ui}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function Yr(t,e,n){let r=i(s=>e.map(s),"column"),o=await t.run(Wc,[String(n.lockTimeoutMs),r(s=>s.tenantId),r(s=>s.runId),r(s=>s.idempotencyKey),r(s=>s.requestDigest),r(s=>s.workflow.name),r(s=>s.workflow.version),r(s=>s.workflow.digest),r(s=>s.queue),r(s=>s.priority),r(s=>s.agent),r(s=>s.requestedBy),r(s=>JSON.stringify(s.requestedRoles)),r(s=>s.inputText),r(s=>s.inputDigest),r(s=>s.deadlineMs),r(s=>s.held),r(s=>s.holdMs),n.publisherGraceSeconds,r(s=>s.onWorkerLoss),r(({startAfter:s})=>s!==null&&"ms"in s?s.ms:null),r(({startAfter:s})=>s!==null&&"at"in s?s.at:null),ue]);return new Map(o.map(s=>{let a=f(s);return[a.text("run_id"),{startsAt:a.dateOrNull("starts_at"),startsInSeconds:a.number("due_in")}]}))}i(Yr,"insertRunsIfKeyIsNew");async function at(t,e){return(await t.run(Kc,[e.map(r=>r.tenantId),e.map(r=>r.idempotencyKey)])).map(Wi)}i(at,"readRunsByKey");async function gn(t,e){return(await t.run(Bc,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(Wi)}i(gn,"readRunsById");function Wi(t){let e=f(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),requestDigest:e.text("request_digest"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),held:e.boolean("held"),unpublished:e.boolean("unpublished"),dueInSeconds:e.number("due_in"),startsAt:e.dateOrNull("starts_at")}}i(Wi,"admittedRun");var Hc=g("deliveries.release",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), released as (
  update ghouls.deliveries d
  set status = 'PENDING', due_at = greatest(d.due_at, ghouls.clock()),
    next_publication_at = greatest(d.due_at, ghouls.clock())
      + case when d.due_at - ghouls.clock() <= $4::double precision * interval '1 second'
        then $3::double precision else 0 end * interval '1 second'
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq
    and r.status = 'QUEUED' and d.status = 'HELD' and d.hold_expires_at > ghouls.clock()
  returning d.tenant_id, d.run_id, d.due_at
)
update ghouls.runs run
set starts_at = released.due_at,
  deadline_at = run.deadline_at + (released.due_at - coalesce(run.starts_at, run.created_at))
from released
where run.tenant_id = released.tenant_id and run.run_id = released.run_id
returning run.run_id`);async function Ki(t,e,n){return(await t.run(Hc,[e.tenantId,e.runId,n,ue])).length===1}i(Ki,"releaseDeliveryIfHeld");var Vc={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},Qc={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL (or the secret) and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."};function Yc(t,e){let n=(e instanceof y?e.fix:void 0)??Qc[t];return n===void 0?{}:{fix:n}}i(Yc,"fixOf");var L=class extends y{static{i(this,"LedgerError")}kind;sqlState;statement;constructor(e,n,r,o){super(Vc[e],`the ledger could not carry out ${n} (${e}${r?`, SQLSTATE ${r}`:""})`,{...Yc(e,o),...e==="defect"||e==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=e,this.sqlState=r,this.statement=n}},Bi=new Set(["42P05","26000"]),Xc=new Set(["40001","40P01",...Bi]),Zc=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),em=new Set(["42P01","42703","42883","3F000"]);function qe(t,e){let n=Tt(t);return n===void 0?{kind:e?"unknown":"unavailable",sqlState:n}:Xc.has(n)||_n(t)?{kind:"retry",sqlState:n}:n==="55P03"?{kind:"busy",sqlState:n}:Zc.has(n)?{kind:"unavailable",sqlState:n}:n.startsWith("57P")||n.startsWith("08")?{kind:e?"unknown":"unavailable",sqlState:n}:em.has(n)?{kind:"schema",sqlState:n}:{kind:"defect",sqlState:n}}i(qe,"classify");function Hi(t){return t!==void 0&&Bi.has(t)}i(Hi,"isNameRefused");function Ji(t){return/^(?:57P|08)/.test(t)||t==="25P03"||t==="25P04"}i(Ji,"hasEnded");function _n(t){return Tt(t)==="0A000"&&t instanceof Error&&"routine"in t&&t.routine==="RevalidateCachedQuery"}i(_n,"isPlanStale");function Tt(t){if(typeof t!="object"||t===null||!("code"in t))return;let{code:e}=t;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:void 0}i(Tt,"sqlStateOf");var tm=h("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),nm=g("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function yn(t,e){return{run:i(async(n,r)=>{try{return(await t.query(Ve(n.text,e),[...r])).rows}catch(o){let{kind:s,sqlState:a}=qe(o,!1);throw new L(s,n.name,a,o)}},"run")}}i(yn,"executorOn");async function hn(t,e){let[n]=await t.run(tm,[]),r=String(n?.isolation);if(r!=="read committed")throw new y("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(n?.begins_transaction===!0)throw new y("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await e();return await t.run(nm,[String(n?.lock_timeout)]),o}i(hn,"inCallersTransaction");var Vi=["pg","neon"];function wn(t){t.on("connect",e=>{e.on("error",()=>{})}),t.on("error",()=>{})}i(wn,"surviveLostConnections");import{createHash as cm}from"node:crypto";import{parseIntoClientConfig as rm}from"pg-connection-string";function Qi(t){if(!/^postgres(?:ql)?:\/\//i.test(t))throw Xr(/^[a-z][a-z\d+.-]*:\/\//i.test(t)?"has another scheme than postgres://":"is no URL");let e;try{e=rm(t)}catch(n){throw Xr(om(t,n))}if(e.port!==void 0&&!Xi(e.port))throw Xr(Yi);return e}i(Qi,"addressOf");var Yi="has a port that is no number from 1 to 65535";function om(t,e){if(e instanceof Error&&"path"in e&&"code"in e)return`names the file ${String(e.path)}, which cannot be read (${String(e.code)})`;let n=/^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(t)?.[1]??"",r=/:([^:\]]*)$/.exec(n)?.[1];return r!==void 0&&r!==""&&!Xi(Number(r))?Yi:"cannot be read"}i(om,"whyUnreadable");function Xi(t){return Number.isInteger(t)&&t>=1&&t<=65535}i(Xi,"isPort");function Xr(t){return new y("configuration_invalid",`the connection string ${t}`,{fix:"Write postgres://user:password@host:port/database, with / ? # % and @ in a password as %2F %3F %23 %25 and %40."})}i(Xr,"invalid");async function Zi(t){let e=await import("@neondatabase/serverless");class n extends e.Client{static{i(this,"Client")}constructor(o){super(o),t!==void 0&&(this.neonConfig.wsProxy=t,this.neonConfig.useSecureWebSocket=!1,this.neonConfig.pipelineTLS=!1,this.neonConfig.pipelineConnect=!1,this.neonConfig.coalesceWrites=!1)}}return r=>{let o=new e.Pool(r);return o.Client=n,wn(o),o}}i(Zi,"neonPool");import im from"pg";var es=i(t=>{let e=new im.Pool(t);return wn(e),e},"openPgPool");var kn=class{static{i(this,"Patience")}#e;#n;#t=new AbortController;constructor(e,n){this.#e=n,this.#n=setTimeout(()=>this.#t.abort(),e)}get over(){return this.#t.signal.aborted}end(){clearTimeout(this.#n)}async allows(e,n=400){if(this.over)return!1;let r=Math.min(n,50*2**(e-1))*(.5+this.#e());return await this.bound(new Promise(o=>setTimeout(o,r))),!this.over}async bound(e){if(this.over)return e;let{signal:n}=this.#t,r,o=new Promise(s=>{r=i(()=>s(void 0),"stop"),n.addEventListener("abort",r,{once:!0})});try{return await Promise.race([e,o])}finally{r!==void 0&&n.removeEventListener("abort",r)}}};var sm=new Set(["ECONNREFUSED","ECONNRESET","ETIMEDOUT","EPIPE","EHOSTUNREACH","ENETUNREACH","EAI_AGAIN"]),am=/^Connection terminated|timeout expired|timeout exceeded when trying to connect/i;function ts(t){if(Zr(t))return!1;let e=Tt(t);return e!==void 0?e==="57P03"||e==="53300"||e.startsWith("08"):t instanceof Error?"code"in t&&typeof t.code=="string"?sm.has(t.code):am.test(t.message):!0}i(ts,"mayComeSoon");var dm=/\bauthentication failed\b/i;function Zr(t){let e=Tt(t);return e==="08P01"?t instanceof Error&&dm.test(t.message):e==="28P01"||e==="28000"}i(Zr,"isRefused");var um=2e3,dt=class{static{i(this,"Connections")}#e;#n;#t;#r;#s;#o=new Set;#i;constructor(e){this.#e=e,this.#n=e.maxConnections??2,this.#t=e.chance??(()=>.5)}patience(){return new kn(this.#e.connectPatienceMs??1e4,this.#t)}async connect(e,n){let r=0,o=new Error("no connection in time");for(let s=1;;s+=1){let a,d=!1;try{a=await this.#l(this.#u(),n),d=this.#a(a);let u=await this.#p(a,n);if(u!==void 0)return u}catch(u){if(o=u,a!==void 0&&Zr(u)){if(r+=1,await this.#l(this.#y(a),n).catch(eo(e))&&r===1||this.#m&&await n.allows(s,um))continue;return eo(e)(u)}if(a!==void 0&&a.state!=="current"||!(a!==void 0&&d&&this.#a(a))&&ts(u)&&await n.allows(s))continue}return eo(e)(o)}}async#l(e,n){if(!this.#m)return e;let r=await n.bound(e.then(o=>({value:o})));if(r===void 0)throw lm();return r.value}get#m(){return typeof this.#e.connectionString!="string"}#a(e){return e.held>=this.#n}async#p(e,n){e.waiting+=1;let r=e.pool.connect().finally(()=>{e.waiting-=1,this.#g(e)}),o=await n.bound(r);if(o===void 0){r.then(s=>s.release(!1),()=>{});return}return e.held+=1,{keepsNames:e.keepsNames,query:i(s=>o.query(s),"query"),release:i(s=>{e.held-=1,o.release(s)},"release")}}async#u(){this.#b(),this.#r??=this.#_().then(n=>this.#f(n));let e=this.#r;try{return await e}catch(n){throw this.#r===e&&(this.#r=void 0),n}}async#_(){let{connectionString:e}=this.#e;if(typeof e=="string")return e;let n=this.patience();try{return await this.#l(e(),n)}finally{n.end()}}async#f(e){let{driver:n="pg",neonProxy:r,password:o}=this.#e,s=Qi(e),a=n==="neon"?await Zi(r):es;this.#b();let d=a({application_name:this.#e.applicationName??"ghouls",query_timeout:this.#e.answerTimeoutMs??2e4,...s,...o===void 0?{}:{password:o},max:this.#n,connectionTimeoutMillis:this.#e.connectTimeoutMs??5e3,idleTimeoutMillis:3e4,allowExitOnIdle:!0}),u=n==="pg"&&!/-pooler\b/.test(s.host??""),l={connectionString:e,pool:d,keepsNames:u,waiting:0,held:0,state:"current",ending:void 0};return this.#o.add(l),l}async#y(e){return e.state!=="current"?!0:this.#m?(this.#s??=this.#h(e).finally(()=>{this.#s=void 0}),this.#s):!1}async#h(e){let n=await this.#_();if(n===e.connectionString)return!1;let r=await this.#f(n);return e.state="replaced",this.#r=Promise.resolve(r),this.#g(e),!0}#g(e){e.state!=="replaced"||e.waiting>0||this.#w(e)}#w(e){return e.state="ended",e.ending??=e.pool.end().finally(()=>this.#o.delete(e)),e.ending}#b(){if(this.#i!==void 0)throw new Error("the ledger has been closed")}close(){return this.#i??=this.#d(),this.#i}async#d(){await Promise.all([...this.#o].map(e=>this.#w(e)))}};function lm(){return new Error("the connection string was not fetched in time")}i(lm,"unfetched");function eo(t){return e=>{throw e instanceof L?e:new L("unavailable",t,qe(e,!1).sqlState,e)}}i(eo,"unavailable");var mm=4,bn=class{static{i(this,"Database")}schema;#e;#n;#t;#r;#s=new Map;#o=!1;constructor(e){this.schema=e.schema??it,Ve("",this.schema),this.#n=e.preparedStatements,this.#t=e.faults??Ir,this.#r=e.chance??(()=>.5),this.#e=new dt(e)}async run(e,n){let r=this.#e.patience(),o=!1,s=!0,a=i(d=>o&&d instanceof L&&d.kind!=="unknown"?new L("unknown",e.name,d.sqlState,d):d,"asTold");try{for(let d=1;;d+=1){let u=await this.#e.connect(e.name,r).catch(l=>{throw a(l)});try{return await this.#i(u,e,n,s)}catch(l){if(l instanceof L&&_n(l.cause)&&(s=!1),o||=l instanceof L&&l.kind==="unknown",!(l instanceof L)||!rs(l)||d>=os(l))throw a(l);await this.#u(d)}}}finally{r.end()}}async#i(e,n,r,o){let s=!0;try{let a=await this.#l(e,n,r,o);return s=!1,a}catch(a){throw s=ns(a),a}finally{e.release(s)}}async#l(e,n,r,o=!0){try{await this.#t("ledger.before-statement",n.name);let{text:s,name:a}=this.#m(n),d=o&&!this.#o&&(this.#n??e.keepsNames),u=await e.query({text:s,values:[...r],...d?{name:a}:{}});return await this.#t("ledger.after-statement",n.name),u.rows}catch(s){let{kind:a,sqlState:d}=qe(s,n.writes);throw Hi(d)&&(this.#o=!0),new L(a,n.name,d,s)}}#m(e){let n=this.#s.get(e.name);if(n===void 0){let r=Ve(e.text,this.schema),o=cm("sha256").update(r).digest("hex").slice(0,12);n={text:r,name:`${e.name}:${o}`},this.#s.set(e.name,n)}return n}async transaction(e,n){let r=await this.#a(e),o=!0;try{let s=await n({run:i((a,d)=>this.#l(r,a,d),"run")});return await this.#p(r,e),o=!1,s}catch(s){throw o=ns(s)||await r.query("rollback").then(()=>!1,()=>!0),s}finally{r.release(o)}}async#a(e){let n=this.#e.patience();try{for(let r=1;;r+=1){let o=await this.#e.connect(e,n);try{return await o.query("begin isolation level read committed"),o}catch(s){o.release(!0);let{kind:a,sqlState:d}=qe(s,!1),u=new L(a,`${e}: begin`,d,s);if(!rs(u)||r>=os(u))throw u;await this.#u(r)}}}finally{n.end()}}async#p(e,n){let r;try{await this.#t("ledger.before-commit",n),r=(await e.query("commit")).command,await this.#t("ledger.after-commit",n)}catch(o){let{kind:s,sqlState:a}=qe(o,!0);throw new L(s,`${n}: commit`,a,o)}if(r!=="COMMIT")throw new L("defect",`${n}: commit answered ${r}`,void 0,void 0)}#u(e){let n=25*4**(e-1)*(.5+this.#r());return new Promise(r=>setTimeout(r,n))}async close(){await this.#e.close()}};function ns(t){return t instanceof L?t.sqlState===void 0||Ji(t.sqlState)||_n(t.cause):!1}i(ns,"isOfNoUse");function rs(t){return t.kind!=="defect"&&t.kind!=="schema"&&t.kind!=="busy"}i(rs,"isRepeatable");function os(t){return t.cause instanceof Error&&/read timeout/i.test(t.cause.message)||t.sqlState==="57014"?2:mm}i(os,"triesOf");var is={number:1,name:"runs",sql:`
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
`};var ss={number:2,name:"containment",sql:`
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
`};var as={number:3,name:"doctor",sql:`
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
`};var ds={number:4,name:"holds",sql:`
create index deliveries_by_hold on ghouls.deliveries (hold_expires_at) where status = 'HELD';
`};var us={number:5,name:"overlap",sql:`
alter table ghouls.runs add column workflow_absent_since timestamptz;
comment on column ghouls.runs.workflow_absent_since is
  'The first give-back in a row by a build without the workflow of this run; null once a hop has started.';
`};var ls={number:6,name:"keys",sql:`
create table ghouls.api_keys (
  tenant_id text not null check (tenant_id <> ''),
  key_id text not null check (key_id <> ''),
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  subject text not null check (subject <> ''),
  roles text[] not null,
  permissions text[] not null,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, key_id),
  constraint api_keys_key_id_key unique (key_id),
  constraint api_keys_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.api_keys is
  'A row stays when its key has ended, and tells who made and who revoked it. The application only reads it and says when a key was used.';
comment on column ghouls.api_keys.digest is 'SHA-256 of the text of the key, which is nowhere else.';
comment on column ghouls.api_keys.last_used_at is 'To the hour: not written at every request.';
`};var cs={number:7,name:"waits",sql:`
alter table ghouls.runs
  add column epoch integer not null default 0 check (epoch >= 0),
  add column journal_start integer not null default 0 check (journal_start >= 0);
comment on column ghouls.runs.epoch is 'How often the run has continued as new.';
comment on column ghouls.runs.journal_start is 'The journal of this epoch begins behind this ordinal.';
create index runs_by_deadline on ghouls.runs (deadline_at, run_id)
  where deadline_at is not null and status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER');

create table ghouls.waits (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_by uuid,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
create unique index waits_one_open on ghouls.waits (tenant_id, run_id) where closed_at is null;

create table ghouls.arms (
  tenant_id text not null,
  run_id uuid not null,
  arm_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  owner text not null check (owner in ('consent', 'signal', 'timer')),
  generation integer not null,
  seq integer not null,
  due_at timestamptz,
  tries integer check (tries >= 1),
  created_at timestamptz not null,
  closed_at timestamptz,
  closing text check (closing in ('fact', 'step', 'restart', 'ended')),
  primary key (tenant_id, run_id, arm_id),
  constraint arms_arm_id_key unique (arm_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint arms_closed check (num_nulls(closed_at, closing) <> 1),
  constraint arms_timer check (owner <> 'timer' or due_at is not null),
  constraint arms_retry check ((kind = 'step') = (tries is not null))
);
comment on column ghouls.arms.generation is 'Of the wait that holds it, or that held it last.';
comment on column ghouls.arms.due_at is 'When its time is over; null where it has none.';
create unique index arms_one_open on ghouls.arms (tenant_id, run_id, epoch, scope, kind, name, nth)
  where closed_at is null;
create index arms_due on ghouls.arms (due_at, run_id) where closed_at is null and due_at is not null;

create table ghouls.consents (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  arm_id uuid not null,
  status text not null check (status in ('PENDING', 'GRANTED', 'DENIED', 'EXPIRED', 'CANCELLED')),
  title text not null,
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  deciders text[] not null check (cardinality(deciders) >= 1),
  quorum integer not null check (quorum >= 1),
  requester_may_decide boolean not null,
  on_expiry text not null check (on_expiry in ('expire', 'grant', 'deny')),
  source text,
  next_look_at timestamptz,
  looks integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, consent_id),
  constraint consents_consent_id_key unique (consent_id),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint consents_closed check ((status = 'PENDING') = (closed_at is null) and num_nulls(closed_at, closed_by) <> 1),
  constraint consents_source check (source is null or status <> 'PENDING' or next_look_at is not null)
);
create unique index consents_of_arm on ghouls.consents (tenant_id, run_id, arm_id);
create index consents_newest on ghouls.consents (tenant_id, created_at desc, consent_id desc);
create index consents_pending on ghouls.consents (tenant_id, created_at desc, consent_id desc) where status = 'PENDING';
create index consents_to_look_up on ghouls.consents (next_look_at, run_id)
  where status = 'PENDING' and source is not null;

create table ghouls.consent_decisions (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  subject text not null,
  verdict text not null check (verdict in ('grant', 'deny')),
  comment_text text,
  comment_digest text,
  decided_at timestamptz not null,
  primary key (tenant_id, run_id, consent_id, subject),
  foreign key (tenant_id, run_id, consent_id) references ghouls.consents (tenant_id, run_id, consent_id),
  constraint consent_decisions_comment check (comment_text is null or comment_digest is not null)
);

create table ghouls.signals (
  tenant_id text not null,
  run_id uuid not null,
  signal_id uuid not null,
  name text not null,
  idempotency_key text,
  request_digest text not null,
  payload_text text,
  payload_digest text,
  sent_by text not null,
  received_at timestamptz not null,
  consumed_at timestamptz,
  consumed_by uuid,
  primary key (tenant_id, run_id, signal_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint signals_idempotency_key unique (tenant_id, run_id, idempotency_key),
  constraint signals_consumed check (num_nulls(consumed_at, consumed_by) <> 1),
  constraint signals_payload check (payload_text is null or payload_digest is not null)
);
create index signals_buffered on ghouls.signals (tenant_id, run_id, name, received_at, signal_id)
  where consumed_at is null;

create function ghouls.close_waits() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.consents set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run'
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'PENDING';
  update ghouls.arms set closed_at = ghouls.clock(), closing = 'ended'
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  update ghouls.waits set closed_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  return null;
end
$function$;
create trigger close_waits after update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_waits as
select run.tenant_id, run.run_id, run.status, run.generation,
  (select count(*) from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
    and w.generation = run.generation and w.closed_at is null) as waits,
  (select count(*) from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
    and a.generation = run.generation and a.closed_at is null) as arms,
  (select count(*) from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
    and c.generation = run.generation) as checkpoints
from ghouls.runs run
where run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not (
    exists (select from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
      and w.generation = run.generation and w.closed_at is null)
    and exists (select from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
      and a.generation = run.generation and a.closed_at is null)
    and exists (select from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
      and c.generation = run.generation));

create view ghouls.doctor_ended_waits as
select run.tenant_id, run.run_id, run.status, w.generation, null::uuid as arm_id, null::uuid as consent_id
from ghouls.waits w
join ghouls.runs run on run.tenant_id = w.tenant_id and run.run_id = w.run_id
where w.closed_at is null
  and run.status not in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select run.tenant_id, run.run_id, run.status, a.generation, a.arm_id, null
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null
  and run.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
union all
select a.tenant_id, a.run_id, null, a.generation, a.arm_id, c.consent_id
from ghouls.consents c
join ghouls.arms a on a.tenant_id = c.tenant_id and a.run_id = c.run_id and a.arm_id = c.arm_id
where c.status = 'PENDING' and a.closed_at is not null;
`};var ms={number:8,name:"starts",sql:`
alter table ghouls.runs add column starts_at timestamptz;
comment on column ghouls.runs.starts_at is
  'What now() of its code begins with: the start that it was given, its release from hold, or its last restart; null: its admission.';
`};var ps={number:9,name:"attempts",sql:`
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check check (owner in ('consent', 'delegate', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt'));

create table ghouls.attempts (
  tenant_id text not null,
  run_id uuid not null,
  attempt_id uuid not null,
  arm_id uuid not null,
  call_key text not null,
  status text not null check (status in ('DEFINED', 'SUBMITTING', 'SUBMITTED', 'RUNNING', 'UNCERTAIN', 'SUCCEEDED',
    'FAILED', 'CANCELLED')),
  service text not null,
  adapter text not null,
  adapter_version text not null,
  service_digest text not null,
  lookup text not null check (lookup in ('authoritative', 'advisory', 'none')),
  submit text not null check (submit in ('idempotent', 'once')),
  cancel text not null check (cancel in ('final', 'advisory', 'none')),
  delay_seconds double precision not null check (delay_seconds >= 0),
  poll_seconds double precision check (poll_seconds > 0),
  heartbeat_seconds double precision check (heartbeat_seconds > 0),
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  idempotency_key text not null,
  token uuid,
  submitter text,
  sends_until timestamptz,
  submissions integer not null default 0 check (submissions >= 0),
  acknowledged_at timestamptz,
  callback_digest text,
  callback_expires_at timestamptz,
  callback_used_at timestamptz,
  heartbeat_at timestamptz,
  deadline_at timestamptz,
  cancel_asked_at timestamptz,
  cancel_reason text check (cancel_reason in ('deadline', 'ended', 'restart')),
  next_look_at timestamptz,
  looks integer not null default 0 check (looks >= 0),
  misses integer not null default 0 check (misses >= 0),
  uncertain_reason text,
  unsent boolean not null default false,
  trouble text,
  trouble_at timestamptz,
  report_text text,
  report_digest text,
  contradiction text,
  created_at timestamptz not null,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, attempt_id),
  constraint attempts_attempt_id_key unique (attempt_id),
  constraint attempts_idempotency_key unique (tenant_id, idempotency_key),
  constraint attempts_of_call unique (tenant_id, run_id, call_key),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint attempts_closed check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (closed_at is not null)
    and num_nulls(closed_at, closed_by) <> 1),
  constraint attempts_sent check (
    (submissions > 0) = (token is not null) and num_nulls(token, sends_until, submitter) in (0, 3)
    and (status in ('DEFINED', 'CANCELLED') or token is not null) and (status <> 'DEFINED' or token is null)),
  constraint attempts_looked_at check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (next_look_at is null)),
  constraint attempts_report check (
    (status in ('SUCCEEDED', 'FAILED')) = (report_digest is not null)
    and (report_text is null or report_digest is not null)),
  constraint attempts_uncertain check ((status = 'UNCERTAIN') = (uncertain_reason is not null)),
  constraint attempts_cancel check (num_nulls(cancel_asked_at, cancel_reason) <> 1),
  constraint attempts_trouble check (num_nulls(trouble, trouble_at) <> 1)
);
comment on table ghouls.attempts is 'ServiceJobAttempt: one delegated job at another service.';
comment on column ghouls.attempts.sends_until is
  'The latest moment at which whoever holds the token, or held it last, can still send.';
comment on column ghouls.attempts.service_digest is 'Of what identifies its service: the executor that was meant.';
comment on column ghouls.attempts.unsent is
  'Whoever holds the token says that nothing of its submission was sent.';
comment on column ghouls.attempts.trouble is 'Why the last question came to nothing.';
create unique index attempts_of_arm on ghouls.attempts (tenant_id, run_id, arm_id);
create index attempts_newest on ghouls.attempts (tenant_id, created_at desc, attempt_id desc);
create index attempts_due on ghouls.attempts (next_look_at, run_id)
  where status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
create index attempts_by_submitter on ghouls.attempts (submitter) where status = 'SUBMITTING';

create function ghouls.contain_attempts() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  update ghouls.attempts set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run',
      next_look_at = null
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'DEFINED';
  update ghouls.attempts set next_look_at = ghouls.clock(), looks = 0,
      cancel_asked_at = coalesce(cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(cancel_reason, 'ended')
    where tenant_id = new.tenant_id and run_id = new.run_id and status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select a.tenant_id, a.run_id, 'attempt', a.call_key, arm.seq, a.token, 'service ' || a.service, ghouls.clock(),
      ghouls.clock()
    from ghouls.attempts a
    join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
    where a.tenant_id = new.tenant_id and a.run_id = new.run_id
      and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  get diagnostics acting = row_count;
  if acting > 0 then
    new.open_items := new.open_items + acting;
    if new.status in ('DONE', 'FAILED') then
      new.status := case new.status when 'DONE' then 'COMPLETING' else 'FAILING' end;
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_attempts before update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_attempts();

create view ghouls.doctor_attempts as
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status as attempt_status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED')
  and (run.status in ('DONE', 'FAILED', 'CANCELLED')
    or (run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.kind = 'attempt' and i.key = a.call_key
        and i.acknowledged_at is null)))
union all
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
where a.status in ('SUCCEEDED', 'FAILED', 'CANCELLED') and arm.closed_at is null and run.quarantined_at is null
  and run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select i.tenant_id, i.run_id, null, null, i.key
from ghouls.containment_items i
where i.kind = 'attempt' and i.acknowledged_at is null and not exists (
  select from ghouls.attempts a
  where a.tenant_id = i.tenant_id and a.run_id = i.run_id and a.call_key = i.key
    and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED'));

create view ghouls.doctor_contradicted_attempts as
select a.tenant_id, a.run_id, a.attempt_id, a.status, a.contradiction
from ghouls.attempts a
where a.contradiction is not null;
`};var fs={number:10,name:"children",sql:`
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check
  check (owner in ('consent', 'delegate', 'child', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt', 'child'));

alter table ghouls.runs
  add column parent_run_id uuid,
  add column parent_arm_id uuid,
  add column parent_close text check (parent_close in ('cancel', 'wait', 'abandon')),
  add column children integer not null default 0 check (children >= 0),
  add constraint runs_parent check (num_nulls(parent_run_id, parent_arm_id, parent_close) in (0, 3));
comment on column ghouls.runs.parent_arm_id is 'The arm on which its parent waits for it.';
comment on column ghouls.runs.parent_close is 'What becomes of it when its parent ends.';
comment on column ghouls.runs.children is 'How many runs it has started.';
create unique index runs_of_arm on ghouls.runs (tenant_id, parent_run_id, parent_arm_id)
  where parent_run_id is not null;

create table ghouls.child_ends (
  tenant_id text not null,
  run_id uuid not null,
  parent_run_id uuid not null,
  ended_at timestamptz not null,
  next_look_at timestamptz not null,
  looks integer not null default 0 check (looks >= 0),
  primary key (tenant_id, run_id)
);
comment on table ghouls.child_ends is
  'Children that have ended, until their parents know. Written under the lock of the child alone, so it has no reference to either.';
create index child_ends_due on ghouls.child_ends (next_look_at, run_id);

create function ghouls.tell_parent() returns trigger
  language plpgsql
  as $function$
begin
  insert into ghouls.child_ends (tenant_id, run_id, parent_run_id, ended_at, next_look_at)
    values (new.tenant_id, new.run_id, new.parent_run_id, new.finished_at, ghouls.clock())
    on conflict (tenant_id, run_id) do nothing;
  return null;
end
$function$;
create trigger tell_parent after update of status on ghouls.runs
  for each row when (new.parent_run_id is not null
    and new.status in ('DONE', 'FAILED', 'CANCELLED') and old.status not in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.tell_parent();

create function ghouls.contain_children() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, arm.seq, child.run_id,
      'run ' || child.run_id, ghouls.clock(), ghouls.clock()
    from ghouls.runs child
    join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
      and arm.arm_id = child.parent_arm_id
    where child.tenant_id = new.tenant_id and child.parent_run_id = new.run_id and child.parent_close <> 'abandon'
      and child.status not in ('DONE', 'FAILED', 'CANCELLED')
    on conflict (tenant_id, run_id, kind, key) do nothing;
  get diagnostics acting = row_count;
  if acting > 0 then
    new.open_items := new.open_items + acting;
    if new.status in ('DONE', 'FAILED') then
      new.status := case new.status when 'DONE' then 'COMPLETING' else 'FAILING' end;
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_children before update of status on ghouls.runs
  for each row when (new.children > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_children();

drop trigger close_waits on ghouls.runs;
create trigger close_waits after update of status on ghouls.runs
  for each row when ((new.generation > 0 or new.children > 0)
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_children as
select parent.tenant_id, parent.run_id, parent.status, child.run_id as child_run_id, child.status as child_status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
where child.parent_close <> 'abandon' and child.status not in ('DONE', 'FAILED', 'CANCELLED')
  and parent.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
  and not exists (
    select from ghouls.containment_items i
    where i.tenant_id = child.tenant_id and i.run_id = parent.run_id and i.kind = 'child' and i.key = child.run_id::text
      and i.acknowledged_at is null)
union all
select parent.tenant_id, parent.run_id, parent.status, child.run_id, child.status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
  and arm.arm_id = child.parent_arm_id
where child.status in ('DONE', 'FAILED', 'CANCELLED') and arm.closed_at is null and parent.quarantined_at is null
  and parent.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not exists (
    select from ghouls.child_ends e where e.tenant_id = child.tenant_id and e.run_id = child.run_id)
union all
select arm.tenant_id, arm.run_id, null, null, 'arm ' || arm.arm_id
from ghouls.arms arm
where arm.owner = 'child' and arm.closed_at is null and not exists (
  select from ghouls.runs child
  where child.tenant_id = arm.tenant_id and child.parent_run_id = arm.run_id and child.parent_arm_id = arm.arm_id);
`};var ut=[is,ss,as,ds,us,ls,cs,ms,ps,fs];var pm=[ne("integrity","open deliveries agree with their run","doctor_open_deliveries"),ne("integrity","working runs have an open delivery","doctor_working_runs"),ne("integrity","terminal runs have nothing open","doctor_terminal_runs"),ne("integrity","pending deliveries have a next publication","doctor_pending_deliveries"),ne("integrity","journals are as long as their runs say","doctor_journals"),ne("integrity","runs know how many items are open","doctor_open_items"),ne("integrity","ending runs have something left to contain","doctor_endings"),ne("integrity","a parked run has one open wait with an open arm, and its checkpoint","doctor_waits"),ne("integrity","waits, arms and consents are closed with what they belong to","doctor_ended_waits"),ne("integrity","attempts end before their run, and what ends brings it back","doctor_attempts"),ne("integrity","children end before their parents, and what ends brings them back","doctor_children"),ne("attention","no service contradicts what it said of a job","doctor_contradicted_attempts"),ne("attention","no lost claim waits for its judgement","doctor_lost_claims"),ne("attention","no run is quarantined","doctor_quarantined_runs"),ne("attention","no open run asks for a person","doctor_runs_with_attention")];function ne(t,e,n){return{kind:t,check:e,statement:h(n.replace("_",".").replaceAll("_","-"),`select * from ghouls.${n}
limit 100`)}}i(ne,"view");var fm=h("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function to(t){let[e]=await t.run(fm,[]);return{applied:Number(e?.version??0),known:ut.at(-1)?.number??0}}i(to,"readSchemaVersion");async function gs(t){let e=await to(t),n=[{check:"the schema is up to date",kind:"integrity",ok:e.applied===e.known,rows:e.applied===e.known?[]:[e]}];for(let{check:r,kind:o,statement:s}of pm){let a=await t.run(s,[]);n.push({check:r,kind:o,ok:a.length===0,rows:a})}return n}i(gs,"examine");var gm=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function G(t){return`${gm}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${E(t)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}i(G,"heldBy");var W=["RUNNING","AWAITING_HARDWARE"];function Mt(t,e){return _s(t,ye("run",e))}i(Mt,"runMayBecome");function xn(t,e){return _s(t,ye("delivery",e))}i(xn,"deliveryMayBecome");function _s(t,e){return e.length===0?"false":`${t} in (${E(e)})`}i(_s,"oneOf");var K=["COMPLETING","FAILING","CANCELLING"];var _m=h("runs.lock",`
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`);async function N(t,e){let n=await t.run(_m,[e.map(r=>r.tenantId),e.map(r=>r.runId)]);return new Map(n.map(r=>[f(r).text("run_id"),f(r).text("status")]))}i(N,"lockRuns");var ym=g("runs.end-if-contained",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(K)}) and run.open_items = 0
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
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${E(Ur.filter(t=>t!=="CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0
returning run.status`);async function Q(t,e){let[n]=await t.run(ym,[e.tenantId,e.runId]);return n===void 0?null:f(n).text("status")}i(Q,"endRunIfContained");var Pe="json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";var hm=g("deliveries.settle",`
with ${G(W)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${Mt("r.status","DONE")}) or ($5 = 'FAILED' and ${Mt("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${Pe}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
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
returning run.status`),wm=g("deliveries.settle-contain",`
with ${G(K)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`),km=h("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),bm=g("runs.quarantine",`
with ${G(W)}, settled as (
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
returning run_id`),xm=g("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${E(pe("run"))})
returning run.run_id`);async function ys(t,e,n){let r=n.status==="DONE"?"done":"failed",o=n.status==="DONE"?[n.outputText,n.outputDigest,null,null,null]:[null,null,n.errorCode,n.errorText,n.errorDigest],s=await t.run(hm,[...In(e),n.status,r,...o]),[a]=s;return a!==void 0?{settled:!0,runStatus:f(a).text("status")}:no(t,e,r)}i(ys,"settleDeliveryIfClaimed");async function hs(t,e,n){return t.transaction("deliveries.settle-contain",async r=>{await N(r,[e]);let s=(await r.run(wm,[...In(e),n])).length===1||(await no(r,e,n)).settled;return{settled:s,ended:s?await Q(r,e):null}})}i(hs,"settleContainIfClaimed");async function ws(t,e,n){return(await t.run(bm,[...In(e),n])).length===1?!0:(await no(t,e,"given_back")).settled}i(ws,"quarantineRunIfClaimed");async function En(t,e,n){return(await t.run(xm,[e.tenantId,e.runId,n])).length===1}i(En,"raiseAttention");async function no(t,e,n){let[r]=await t.run(km,In(e));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=f(r),s=o.text("run_status");return r.mine===!0&&o.textOrNull("outcome")===n?{settled:!0,runStatus:s}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:s}}i(no,"readClaim");function In(t){return[t.tenantId,t.runId,t.seq,t.token]}i(In,"keyOf");var Im={micros:"0",runId:"00000000-0000-0000-0000-000000000000"},J=i(t=>`(extract(epoch from ${t}) * 1000000)::bigint as micros`,"microsOf"),Y=i((t,e,n)=>`(${t}, ${e}) > (timestamptz 'epoch' + $${n}::bigint * interval '1 microsecond', $${n+1}::uuid)`,"behind");function Z(t){let{micros:e,runId:n}=t??Im;return[e,n]}i(Z,"positionOf");function ee(t,e,n){let r=t.length<e?void 0:t.at(-1);return{found:t.map(n),next:r&&{micros:f(r).text("micros"),runId:f(r).text("run_id")}}}i(ee,"pageOf");var Sn=i((t,e,n)=>`($${n}::bigint is null
    or (${t}, ${e}) < (timestamptz 'epoch' + $${n} * interval '1 microsecond', $${n+1}::uuid))`,"olderThan");function An(t,e,n,r){let o=t.slice(0,e),s=t.length>e?o.at(-1):void 0;return{shown:o.map(r),next:s&&{micros:f(s).text("micros"),id:f(s).text(n)}}}i(An,"newestOf");function Cn(t,{runId:e,status:n},{limit:r,after:o}){return[t,r+1,e??null,n??null,o?.micros??null,o?.id??null]}i(Cn,"newestValues");var Le=["AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER"],Sm=Re.map(t=>`when '${t}' then '${Hr(t)}'`).join(" "),Am=g("consents.expire",`
with expired as materialized (
  select c.tenant_id, c.run_id, c.consent_id
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.status = 'PENDING' and c.expires_at <= ghouls.clock()
  order by c.consent_id
  for update
)
update ghouls.consents c
set status = case c.on_expiry ${Sm} end, closed_at = ghouls.clock(), closed_by = 'expiry'
from expired
where c.tenant_id = expired.tenant_id and c.run_id = expired.run_id and c.consent_id = expired.consent_id
returning c.consent_id`),Cm=h("arms.facts",`
select a.arm_id, a.owner, a.kind, coalesce(a.due_at <= ghouls.clock(), false) as due, c.consent_id, c.status, c.closed_by,
  (select json_agg(json_build_object('by', s.subject, 'verdict', s.verdict, 'at', floor(extract(epoch from s.decided_at) * 1000), 'comment', s.comment_text) order by s.decided_at, s.subject)
    from ghouls.consent_decisions s
    where s.tenant_id = c.tenant_id and s.run_id = c.run_id and s.consent_id = c.consent_id)::text as decisions,
  (select json_agg(json_build_object('signalId', s.signal_id, 'from', s.sent_by, 'at', floor(extract(epoch from s.received_at) * 1000), 'payload', s.payload_text) order by s.received_at, s.signal_id)
    from (
      select b.* from ghouls.signals b
      where b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name and b.consumed_at is null
      order by b.received_at, b.signal_id
      limit 10
    ) s
    where a.owner = 'signal')::text as signals,
  t.attempt_id, t.status as attempt_status, t.report_text, t.report_digest,
  coalesce(t.cancel_reason = 'deadline', false) as attempt_overdue, child.run_id as child_run_id, child.status as child_status,
  case child.status when 'DONE' then child.output_text when 'FAILED' then child.error_text end as child_text,
  case child.status when 'DONE' then child.output_digest when 'FAILED' then child.error_digest end as child_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by coalesce(c.closed_at, t.closed_at, child.finished_at, (
    select min(b.received_at) from ghouls.signals b
    where a.owner = 'signal' and b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name
      and b.consumed_at is null), a.due_at, a.created_at), a.created_at, a.arm_id`),vm=g("arms.close",`
with r as materialized (
  select run.tenant_id, run.run_id, run.journal_length
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), closed as (
  update ghouls.arms a
  set closed_at = ghouls.clock(), closing = 'fact'
  from r
  where a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.arm_id = $4 and a.closed_at is null
  returning a.tenant_id, a.run_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.created_at
), consumed as (
  update ghouls.signals s
  set consumed_at = ghouls.clock(), consumed_by = $4
  from closed
  where s.tenant_id = closed.tenant_id and s.run_id = closed.run_id and s.signal_id = $5::uuid and s.consumed_at is null
  returning s.run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select closed.tenant_id, closed.run_id, r.journal_length + 1, closed.epoch, closed.scope, closed.kind, closed.name, closed.nth,
    'ok', $6, $7, 1, d.seq, d.token, date_trunc('milliseconds', closed.created_at), date_trunc('milliseconds', ghouls.clock())
  from closed
  join r on r.tenant_id = closed.tenant_id and r.run_id = closed.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where closed.kind <> 'step'
  returning tenant_id, run_id, ordinal
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $8::bigint
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id, run.journal_bytes
)
select closed.kind, (select count(*) from entry)::integer as entries, (select count(*) from consumed)::integer as consumed,
  coalesce((select counted.journal_bytes from counted), 0) as journal_bytes
from closed`),Dm=g("runs.resume",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), wait as (
  update ghouls.waits w
  set closed_at = ghouls.clock(), closed_by = $3::uuid
  from r
  where w.tenant_id = r.tenant_id and w.run_id = r.run_id and w.generation = r.generation and w.closed_at is null
    and r.status in (${E(Le)}) and r.quarantined_at is null
  returning w.tenant_id, w.run_id, w.generation, w.seq, w.closed_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1
  from wait
  where run.tenant_id = wait.tenant_id and run.run_id = wait.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, wait.generation, wait.seq as parked_seq,
    wait.closed_at
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
    moved.generation, moved.closed_at, moved.closed_at + $4::double precision * interval '1 second', moved.closed_at
  from moved
  returning run_id
)
select moved.enqueue_seq, moved.queue, moved.parked_seq from moved join next on next.run_id = moved.run_id`),Nm=h("arms.run-of-arm",`
select a.tenant_id, a.run_id, a.closed_at is null as open,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in
from ghouls.arms a
where a.arm_id = $1`),Om=h("arms.due",`
select a.tenant_id, a.run_id, a.arm_id, extract(epoch from ghouls.clock() - a.due_at)::double precision as late,
  ${J("a.due_at")}
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null and a.due_at <= ghouls.clock() and run.status in (${E(Le)})
  and run.quarantined_at is null and ${Y("a.due_at","a.run_id",2)}
order by a.due_at, a.run_id
limit $1`);async function ro(t,e){await t.run(Am,[e.tenantId,e.runId]);let n=await t.run(Cm,[e.tenantId,e.runId]);return Jr(n.map(Rm))}i(ro,"readClosings");async function oo(t,e,n,r){for(let{armId:o,resultText:s,signalId:a}of r){let[d]=await t.run(vm,[e.tenantId,e.runId,n,o,a??null,s,s===null?null:v(s),s===null?0:Buffer.byteLength(s)]);if(d!==void 0&&f(d).number("journal_bytes")>Ie)return}}i(oo,"closeArms");async function ge(t,e,n){let r=await ro(t,e),[o]=r;if(o===void 0)return null;let[s]=await t.run(Dm,[e.tenantId,e.runId,o.armId,n]);if(s===void 0)return null;let a=f(s);await oo(t,e,a.number("parked_seq"),r);let{tenantId:d,runId:u}=e;return{tenantId:d,runId:u,enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}}i(ge,"resumeIfClosed");async function io(t,e,n){return t.transaction("runs.resume",async r=>(await N(r,[e])).size===0?null:ge(r,e,n))}i(io,"resumeRun");async function bs(t,e){let[n]=await t.run(Nm,[e]);if(n===void 0)return null;let r=f(n);return{tenantId:r.text("tenant_id"),runId:r.text("run_id"),open:r.boolean("open"),dueInSeconds:r.numberOrNull("due_in")}}i(bs,"readRunOfArm");async function xs(t,e,n){let r=await t.run(Om,[e,...Z(n)]);return ee(r,e,o=>{let s=f(o);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),armId:s.text("arm_id"),lateSeconds:s.number("late")}})}i(xs,"readDueArms");function ks(t){return JSON.parse(t).map(n=>({...n,at:new Date(n.at).toISOString()}))}i(ks,"dated");function Rm(t){let e=f(t),n=e.textOrNull("consent_id"),r=e.textOrNull("attempt_id"),o=e.textOrNull("signals"),s=e.textOrNull("child_run_id");return{armId:e.text("arm_id"),owner:e.text("owner"),due:e.boolean("due"),retry:e.text("kind")==="step",...n===null?{}:{consent:{consentId:n,status:e.text("status"),closedBy:e.textOrNull("closed_by"),decisions:ks(e.textOrNull("decisions")??"[]")}},...r===null?{}:{attempt:{attemptId:r,status:e.text("attempt_status"),overdue:e.boolean("attempt_overdue"),report:e.textOrNull("report_text"),digest:e.textOrNull("report_digest")}},...s===null?{}:{child:{runId:s,status:e.text("child_status"),text:e.textOrNull("child_text"),digest:e.textOrNull("child_digest")}},...o===null?{}:{signals:ks(o)}}}i(Rm,"factOf");var re=pe("attempt"),vn=["SUBMITTED","RUNNING"],Es=`t.tenant_id, t.run_id, t.attempt_id, t.status, t.service, t.adapter, t.adapter_version, t.service_digest,
  t.request_digest, t.idempotency_key, t.submissions, t.uncertain_reason, t.contradiction, t.cancel_reason, t.trouble, t.trouble_at, t.created_at,
  t.acknowledged_at, t.heartbeat_at, t.deadline_at, t.next_look_at, t.closed_at, t.closed_by, a.name, run.workflow_name`,jt=`${Es}, t.lookup, t.submit, t.cancel, t.delay_seconds, t.poll_seconds, t.heartbeat_seconds,
  t.stored_digest, t.token, t.looks, t.misses, t.unsent, t.report_digest, t.callback_digest,
  t.cancel_asked_at is not null as cancel_asked, t.callback_used_at is not null as callback_used,
  coalesce(t.callback_expires_at <= ghouls.clock(), false) as callback_expired,
  run.status as run_status, run.attention_at is not null as attended, a.closed_at is null as arm_open,
  a.closed_at is null and a.generation = run.generation and run.quarantined_at is null
    and run.status in (${E(Le)}) as parked,
  coalesce(t.sends_until + t.delay_seconds * interval '1 second' < ghouls.clock(), false) as late,
  coalesce(t.deadline_at <= ghouls.clock(), false) as overdue,
  coalesce(t.status in (${E(vn)})
    and t.heartbeat_at + t.heartbeat_seconds * interval '1 second' <= ghouls.clock(), false) as heart_lapsed`,so="t.request_text, t.report_text",Is="null as request_text, null as report_text",lt=`from ghouls.attempts t
join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
join ghouls.runs run on run.tenant_id = t.tenant_id and run.run_id = t.run_id`,qm=h("attempts.read",`
select ${jt}, ${so}
${lt}
where t.tenant_id = $1 and t.attempt_id = $2`),Pm=h("attempts.read-for-callback",`
select ${jt}, ${so}
${lt}
where t.attempt_id = $1`),Lm=h("attempts.lock",`
select ${jt}, ${so}
${lt}
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
for update of t`),Tm=h("attempts.due",`
select ${jt}, ${Is}, ${J("t.next_look_at")}
${lt}
where t.status not in (${E(re)}) and t.next_look_at <= ghouls.clock()
  and ${Y("t.next_look_at","t.run_id",2)}
order by t.next_look_at, t.run_id
limit $1`),Mm=h("attempts.defined-of-run",`
select ${jt}, ${Is}
${lt}
where t.tenant_id = $1 and t.run_id = $2 and t.status = 'DEFINED'
order by t.created_at, t.attempt_id`),jm=h("attempts.page",`
select ${Es}, ${J("t.created_at")}
${lt}
where t.tenant_id = $1 and ($3::uuid is null or t.run_id = $3) and ($4::text is null or t.status = $4)
  and ${Sn("t.created_at","t.attempt_id",5)}
order by t.created_at desc, t.attempt_id desc
limit $2`);async function Ss(t,e){let[n]=await t.run(qm,[e.tenantId,e.attemptId]);return n===void 0?null:zt(n)}i(Ss,"readAttempt");async function As(t,e){let[n]=await t.run(Pm,[e]);return n===void 0?null:zt(n)}i(As,"readAttemptForCallback");async function ao(t,e){let[n]=await t.run(Lm,[e.tenantId,e.runId,e.attemptId]);return n===void 0?null:zt(n)}i(ao,"lockAttempt");async function Cs(t,e,n){let r=await t.run(Tm,[e,...Z(n)]);return ee(r,e,zt)}i(Cs,"readDueAttempts");async function vs(t,e){return(await t.run(Mm,[e.tenantId,e.runId])).map(zt)}i(vs,"readDefinedAttempts");async function Ds(t,e,n,r){let o=await t.run(jm,Cn(e,n,r)),{shown:s,next:a}=An(o,r.limit,"attempt_id",Ns);return{attempts:s,next:a}}i(Ds,"readAttemptPage");function Ns(t){let e=f(t),n=e.dateOrNull("trouble_at");return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),attemptId:e.text("attempt_id"),status:e.text("status"),name:e.text("name"),workflow:e.text("workflow_name"),service:e.text("service"),adapter:e.text("adapter"),adapterVersion:e.text("adapter_version"),serviceDigest:e.text("service_digest"),requestDigest:e.text("request_digest"),idempotencyKey:e.text("idempotency_key"),submissions:e.number("submissions"),uncertainReason:e.textOrNull("uncertain_reason"),contradiction:e.textOrNull("contradiction"),cancelReason:e.textOrNull("cancel_reason"),trouble:n===null?null:{why:e.text("trouble"),at:n},createdAt:e.date("created_at"),acknowledgedAt:e.dateOrNull("acknowledged_at"),heartbeatAt:e.dateOrNull("heartbeat_at"),deadlineAt:e.dateOrNull("deadline_at"),nextLookAt:e.dateOrNull("next_look_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}i(Ns,"listedOf");function zt(t){let e=f(t);return{...Ns(t),traits:{lookup:e.text("lookup"),submit:e.text("submit"),cancel:e.text("cancel"),delaySeconds:e.number("delay_seconds")},pollSeconds:e.numberOrNull("poll_seconds"),heartbeatSeconds:e.numberOrNull("heartbeat_seconds"),requestText:e.textOrNull("request_text")??"",storedDigest:e.text("stored_digest"),token:e.textOrNull("token"),looks:e.number("looks"),misses:e.number("misses"),unsent:e.boolean("unsent"),reportText:e.textOrNull("report_text"),reportDigest:e.textOrNull("report_digest"),callbackDigest:e.textOrNull("callback_digest"),callbackExpired:e.boolean("callback_expired"),callbackUsed:e.boolean("callback_used"),cancelAsked:e.boolean("cancel_asked"),runStatus:e.text("run_status"),attended:e.boolean("attended"),parked:e.boolean("parked"),armOpen:e.boolean("arm_open"),late:e.boolean("late"),overdue:e.boolean("overdue"),heartLapsed:e.boolean("heart_lapsed")}}i(zt,"attemptOf");var uo="attempt_uncertain:",Os="attempt_contradicted:",Fm=g("attempts.calm",`
with asks as materialized (
  (select format($4::text, a.name, t.service, coalesce(t.uncertain_reason, t.trouble)) as reason, 1 as rank
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2
    and (t.status = 'UNCERTAIN' or t.status not in (${E(re)}) and t.misses >= $6)
  order by t.created_at, t.attempt_id
  limit 1)
  union all
  (select format($5::text, a.name, t.service, t.contradiction), 2
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2 and t.contradiction is not null
  order by t.created_at, t.attempt_id
  limit 1)
), reason as (
  select (select left(asks.reason, 1000) from asks order by asks.rank limit 1) as reason
)
update ghouls.runs run
set attention_reason = reason.reason,
  attention_at = case when reason.reason is not null then coalesce(run.attention_at, ghouls.clock()) end
from reason
where run.tenant_id = $1 and run.run_id = $2 and starts_with(run.attention_reason, $3)
returning run.run_id`);async function Rs(t,e,n){await En(t,e,`${uo} ${n}`.slice(0,1e3))}i(Rs,"askAboutJob");async function ct(t,{tenantId:e,runId:n}){await t.run(Fm,[e,n,uo,`${uo} nobody knows of the job "%s" at %s: %s`,`${Os} of the job "%s" at %s: %s`,3])}i(ct,"calmIfKnown");function $s(t){return`${Os} ${t}`}i($s,"contradicted");var Gm=g("audit.record",`
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function Te(t,e,n){await t.run(Gm,[e.tenantId,e.runId,n.actor,n.act,n.subject,n.reason])}i(Te,"recordAudit");var Um=g("deliveries.yield",`
with ${G(W)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $10, settled_at = ghouls.clock()
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
  checkpoint.generation, greatest(moved.settled_at, $11::timestamptz),
  case when $11::timestamptz is null then moved.settled_at + $9::double precision * interval '1 second'
    else greatest(moved.settled_at, $11::timestamptz) end,
  moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),Wm=g("deliveries.give-back",`
with ${G(W)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.checkpoint_generation, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1,
    workflow_absent_since = case when $6::boolean then coalesce(run.workflow_absent_since, settled.settled_at)
      else run.workflow_absent_since end
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
returning seq, queue`),Km=g("deliveries.due-now",`
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
returning d.seq`),Bm=g("runs.clear-absence",`
with ${G(W)}
update ghouls.runs run
set workflow_absent_since = null
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id
returning run.run_id`),Hm=g("runs.adopt",`
with ${G(W)}, moved as (
  update ghouls.runs run
  set workflow_version = $6, workflow_digest = $7, workflow_absent_since = null,
    generation = run.generation + case when $8::boolean then 1 else 0 end
  from held
  where run.tenant_id = held.tenant_id and run.run_id = held.run_id and held.journal_length = $9
    and run.workflow_digest = any($5::text[])
  returning run.tenant_id, run.run_id, run.generation, held.seq
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $7, $9, $10, ghouls.clock()
  from moved
  where $8::boolean
  returning tenant_id, run_id, seq, generation
), carried as (
  update ghouls.deliveries d
  set checkpoint_generation = checkpoint.generation
  from checkpoint
  where d.tenant_id = checkpoint.tenant_id and d.run_id = checkpoint.run_id and d.seq = checkpoint.seq
  returning d.seq
)
select moved.run_id, carried.seq from moved left join carried on true`),Jm=h("deliveries.handed-over",`
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`),Vm=h("checkpoints.read",`
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`);async function Dn(t,e,n,{idle:r,publisherGraceSeconds:o,dueAt:s}){let{workflowDigest:a,journalLength:d,journalDigest:u}=n,l=s===void 0?"continued":"given_back",[c]=await t.run(Um,[...Ft(e),a,d,u,r,o,l,s??null]);return c===void 0?Nn(t,e,l):Me(c)}i(Dn,"yieldDeliveryIfClaimed");async function qs(t,e,n,r=!1){let[o]=await t.run(Wm,[...Ft(e),n,r]);return o===void 0?Nn(t,e,"given_back"):Me(o)}i(qs,"giveDeliveryBackIfClaimed");async function Ps(t,e){return(await t.run(Bm,Ft(e))).length===1}i(Ps,"clearAbsenceIfClaimed");async function Ls(t,e,n,{journalLength:r,journalDigest:o}){return(await t.run(Hm,[...Ft(e),[e.workflow.digest,n.digest],n.version,n.digest,e.checkpointGeneration!==null,r,o])).length===1}i(Ls,"adoptIfClaimed");async function Ts(t,e,n){let[r]=await t.run(Vm,[e.tenantId,e.runId,n]);if(r===void 0)return null;let o=f(r);return{workflowDigest:o.text("workflow_digest"),journalLength:o.number("journal_length"),journalDigest:o.text("journal_digest")}}i(Ts,"readCheckpoint");async function Nn(t,e,n){let[r]=await t.run(Jm,[...Ft(e),n]);return r===void 0?null:Me(r)}i(Nn,"handedOver");function Me(t){return{enqueueSeq:f(t).number("seq"),queue:f(t).text("queue")}}i(Me,"nextOf");function Ft(t){return[t.tenantId,t.runId,t.seq,t.token]}i(Ft,"keyOf");async function On(t,e){await t.run(Km,[e.tenantId,e.runId])}i(On,"makeGivenBackDue");var Ym=g("items.acknowledge",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
    and not exists (
      select from ghouls.attempts t
      where i.kind = 'attempt' and t.tenant_id = i.tenant_id and t.run_id = i.run_id and t.call_key = i.key
        and t.status not in (${E(re)}) and t.sends_until > ghouls.clock())
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
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${Pe} = a.key
  returning i.run_id
), job as (
  update ghouls.attempts t
  set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = $5, next_look_at = null, uncertain_reason = null
  from acknowledged a
  where a.kind = 'attempt' and t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.call_key = a.key
    and t.status not in (${E(re)})
  returning t.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
  and (select count(*) from job) >= 0
returning run.open_items`),Xm=h("deliveries.holds",`
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`),Zm=g("deliveries.over-now",`
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`);async function lo(t,e,n,r){return t.transaction("items.acknowledge",async o=>{await N(o,[e]);let{kind:s,key:a,by:d,words:u,token:l,under:c}=n;if(c!==void 0&&(await o.run(Xm,[c.tenantId,c.runId,c.seq,c.token])).length===0)return null;let[m]=await o.run(Ym,[e.tenantId,e.runId,s,a,d,u,l??null]);if(m===void 0)return null;if(s==="worker"&&await On(o,e),s==="attempt"&&await ct(o,e),r!==void 0){let p=`${s} ${a}`;await Te(o,e,{...r,act:"resolve",subject:p})}return{openItems:f(m).number("open_items"),ended:await Q(o,e)}})}i(lo,"acknowledgeItem");async function Ms(t,e){let n=await lo(t,e,{kind:"worker",key:String(e.seq),by:"worker",words:"its worker ended the hop: no step is in flight",token:e.token});return n!==null?n:(await t.run(Zm,[e.tenantId,e.runId,e.seq,e.token]),null)}i(Ms,"acknowledgeWorker");var Fs=`(case when $11::double precision is null then t.sends_until
    else least(t.sends_until, ghouls.clock() + $11 * interval '1 second') end)`,js=`${Fs} + (t.delay_seconds + 1) * interval '1 second'`,tp=g("attempts.change",`
update ghouls.attempts t
set status = $4,
  report_text = $5, report_digest = $6, uncertain_reason = $7,
  acknowledged_at = case when $8::boolean then coalesce(t.acknowledged_at, ghouls.clock()) else t.acknowledged_at end,
  heartbeat_at = case when $8::boolean then ghouls.clock() else t.heartbeat_at end,
  looks = case when $16::boolean then t.looks when t.status = $4 then t.looks + 1 else 0 end,
  misses = case when $16::boolean then t.misses when $10::boolean then t.misses + 1 else 0 end,
  trouble = case when $10::boolean then coalesce($14, t.trouble) else t.trouble end,
  trouble_at = case when $10::boolean and coalesce($14, t.trouble) is not null then ghouls.clock() else t.trouble_at end,
  unsent = $15::boolean,
  sends_until = ${Fs},
  callback_used_at = case when $12::boolean then ghouls.clock() else t.callback_used_at end,
  closed_at = case when $4 in (${E(re)}) then ghouls.clock() end,
  closed_by = case when $4 in (${E(re)}) then $13 end,
  next_look_at = case when $16::boolean then t.next_look_at when $4 not in (${E(re)}) then least(
    ghouls.clock() + $9::double precision * interval '1 second',
    case when $4 in (${E(vn)}) then
      case when $8::boolean then ghouls.clock() else t.heartbeat_at end + t.heartbeat_seconds * interval '1 second' end,
    case when t.deadline_at > ghouls.clock() then t.deadline_at end,
    case when ($4 not in (${E(vn)}) or t.cancel_asked_at is not null) and not $15::boolean
      and ${js} > ghouls.clock() then ${js} end) end
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`),Gs=g("attempts.cancel",`
update ghouls.attempts t
set cancel_asked_at = coalesce(t.cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(t.cancel_reason, $4)
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`),np=g("attempts.close-item",`
with acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $4, acknowledgement = $5
  from ghouls.attempts t
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
    and i.tenant_id = t.tenant_id and i.run_id = t.run_id and i.kind = 'attempt' and i.key = t.call_key
    and i.acknowledged_at is null
  returning i.tenant_id, i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged
where run.tenant_id = acknowledged.tenant_id and run.run_id = acknowledged.run_id
returning run.open_items`),rp=g("attempts.contradict",`
with kept as (
  update ghouls.attempts t
  set contradiction = $4
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3 and t.contradiction is null
  returning t.tenant_id, t.run_id
)
update ghouls.runs run
set attention_reason = $5, attention_at = ghouls.clock()
from kept
where run.tenant_id = kept.tenant_id and run.run_id = kept.run_id and run.attention_at is null
returning run.run_id`);async function Us(t,e,n,r,o){return t.transaction("attempts.change",async s=>{await N(s,[e]);let a=await ao(s,e);if(a===null)return null;let d=n(a);if(d===void 0)return null;if(await op(s,a,d),o!==void 0){let p=`attempt ${e.attemptId}`;await Te(s,e,{...o,act:"resolve",subject:p})}let{status:u}=d;if(!re.includes(u))return{status:u,resumption:null,ended:null};let l=`its job is ${u}`;await s.run(np,[...Gt(e),d.by,l]);let c=await Q(s,e),m=c===null?await ge(s,e,r.publisherGraceSeconds):null;return{status:u,resumption:m,ended:c}})}i(Us,"changeAttempt");async function op(t,e,n){let{status:r,report:o,by:s,acknowledged:a,missed:d,sentFor:u,usesCallback:l}=n,c=n.why===void 0?void 0:zs(n.why),{overdue:m,armOpen:p,cancelAsked:w}=e;r==="CANCELLED"&&!w&&(m||!p)&&await t.run(Gs,[...Gt(e),m&&p?"deadline":"ended"]),await t.run(tp,[...Gt(e),r,o?.reportText??null,o?.reportDigest??null,r==="UNCERTAIN"?e.uncertainReason??c??"unknown":null,a,n.nextLookSeconds,d,u??null,l??!1,s,c??null,n.unsent??(e.unsent&&r===e.status&&!a),n.onlyAlive??!1]);let k=r==="UNCERTAIN"&&e.status!=="UNCERTAIN"?c??"unknown":n.attention;if(k!==void 0){let O=`nobody knows of the job "${e.name}" at ${e.service}: ${zs(k)}`;await Rs(t,e,O)}r!=="UNCERTAIN"&&(a||r!==e.status)&&e.attended&&await ct(t,e)}i(op,"write");async function Ws(t,e,n){return t.transaction("attempts.cancel",async r=>{await N(r,[e]);let o=await ao(r,e);return o===null||o.status!==e.status||o.token!==e.token?!1:(await r.run(Gs,[...Gt(e),n])).length===1})}i(Ws,"askToCancel");async function Ks(t,e,n){await t.transaction("attempts.contradict",async r=>{await N(r,[e]);let o=$s(`of the job "${e.name}" at ${e.service}: ${n}`);await r.run(rp,[...Gt(e),n.slice(0,1e3),o.slice(0,1e3)])})}i(Ks,"keepContradiction");var ip=1e3;function zs(t){return t.slice(0,ip).replaceAll("\0","\uFFFD").toWellFormed()}i(zs,"kept");function Gt({tenantId:t,runId:e,attemptId:n}){return[t,e,n]}i(Gt,"keyOf");var ap=["DEFINED","SUBMITTING","UNCERTAIN"],dp=g("attempts.claim-submission",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), held as materialized (
  select t.tenant_id, t.run_id, t.attempt_id, t.arm_id, t.status, t.token, t.deadline_at, t.cancel_asked_at, t.acknowledged_at,
    r.status as run_status, r.generation, r.quarantined_at
  from r
  join ghouls.attempts t on t.tenant_id = r.tenant_id and t.run_id = r.run_id and t.attempt_id = $3
  for update of t
)
update ghouls.attempts t
set status = 'SUBMITTING', token = $6, submitter = $7, submissions = t.submissions + case when t.unsent then 0 else 1 end,
  sends_until = ghouls.clock() + $8::double precision * interval '1 second',
  callback_digest = $9, callback_used_at = null,
  callback_expires_at = case when $9::text is not null then t.deadline_at + $10::double precision * interval '1 second' end,
  next_look_at = ghouls.clock() + $11::double precision * interval '1 second', looks = case when t.unsent then t.looks else 0 end,
  misses = case when t.unsent then t.misses else 0 end, unsent = false, uncertain_reason = null
from held
join ghouls.arms a on a.tenant_id = held.tenant_id and a.run_id = held.run_id and a.arm_id = held.arm_id
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.attempt_id = held.attempt_id
  and held.status = $4 and held.token is not distinct from $5::uuid
  and held.status in (${E(ap)})
  and held.acknowledged_at is null and held.cancel_asked_at is null
  and (held.deadline_at is null or held.deadline_at > ghouls.clock())
  and held.run_status in (${E(Le)}) and held.quarantined_at is null
  and a.closed_at is null and a.generation = held.generation
returning t.attempt_id`),up=g("attempts.submitter-ended",`
with left_behind as materialized (
  select t.tenant_id, t.run_id, t.attempt_id
  from ghouls.attempts t
  where t.submitter = $1 and t.status = 'SUBMITTING'
  order by t.tenant_id, t.run_id, t.attempt_id
  for update skip locked
)
update ghouls.attempts t
set sends_until = least(t.sends_until, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(t.next_look_at, ghouls.clock())
from left_behind
where t.tenant_id = left_behind.tenant_id and t.run_id = left_behind.run_id and t.attempt_id = left_behind.attempt_id
returning t.attempt_id`);async function Bs(t,e,n){return t.transaction("attempts.claim-submission",async r=>(await N(r,[e]),(await r.run(dp,[e.tenantId,e.runId,e.attemptId,e.status,e.token,n.token,n.submitter,n.sendsForSeconds,n.callbackDigest,n.callbackSeconds,n.nextLookSeconds])).length===0?!1:(await ct(r,e),!0)))}i(Bs,"claimSubmission");async function Hs(t,e,n){await t.run(up,[e,n])}i(Hs,"recordSubmitterEnd");var cp=g("deliveries.beat",`
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
returning d.run_id, d.seq`),mp=g("deliveries.beat-of-worker",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $2::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id`);async function Js(t,e,n){return(await t.run(mp,[e,n])).length}i(Js,"beatOfWorker");async function Vs(t,e,n){let r=await t.run(cp,[e.map(o=>o.tenantId),e.map(o=>o.runId),e.map(o=>o.seq),e.map(o=>o.token),n]);return new Set(r.map(o=>`${f(o).text("run_id")}:${f(o).number("seq")}`))}i(Vs,"beatIfClaimed");function Rn(t){return`open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + ${t}::double precision * interval '1 second') end as over_at
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
  select i.tenant_id, i.run_id, 'effect', ${Pe}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)`}i(Rn,"takenAway");var fp=g("runs.cancel",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(ye("run","CANCELLING"))})
  for update
), ${Rn("$5")}
update ghouls.runs run
set status = 'CANCELLING', cancelled_by = $3, cancel_reason = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function co(t,e,n,r){return t.transaction("runs.cancel",async o=>{let s=(await N(o,[e])).get(e.runId);if(s===void 0)return null;let[a]=await o.run(fp,[e.tenantId,e.runId,n.actor,n.reason,r]);return a===void 0?{cancelled:!1,status:s}:{cancelled:!0,status:await Q(o,e)??f(a).text("status")}})}i(co,"cancelRun");var _p=g("evidence.reject",`
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6, $7, $8, ghouls.clock()
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`);async function Qs(t,e,n){let{call:r,outcome:o,bodyText:s,bodyDigest:a}=n;await t.run(_p,[e.tenantId,e.runId,e.seq,e.token,r,o,s,a])}i(Qs,"recordRejectedResult");var hp=h("arms.of-run",`
select a.arm_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.owner, a.generation, a.seq, a.due_at, a.tries,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in, c.consent_id, t.attempt_id,
  t.status as attempt_status, t.deadline_at, child.run_id as child_run_id,
  coalesce(c.request_digest, t.request_digest, child.request_digest) as request_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by a.created_at, a.arm_id`),wp=h("arms.retries",`
select a.epoch, a.scope, a.kind, a.name, a.nth, max(a.tries) as tries,
  max(a.due_at) filter (where a.closed_at is null) as due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.epoch = $3 and a.kind = 'step'
group by a.epoch, a.scope, a.kind, a.name, a.nth`);async function Ut(t,e){return(await t.run(hp,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{armId:o.text("arm_id"),call:Xs(r),owner:o.text("owner"),generation:o.number("generation"),seq:o.number("seq"),dueAt:o.dateOrNull("due_at")??o.dateOrNull("deadline_at"),dueInSeconds:o.numberOrNull("due_in"),tries:o.numberOrNull("tries"),consentId:o.textOrNull("consent_id"),attemptId:o.textOrNull("attempt_id"),attemptStatus:o.textOrNull("attempt_status"),childRunId:o.textOrNull("child_run_id"),requestDigest:o.textOrNull("request_digest")}})}i(Ut,"readOpenArms");async function Ys(t,e,n){return(await t.run(wp,[e.tenantId,e.runId,n])).map(o=>{let s=f(o);return{call:Xs(o),tries:s.number("tries"),dueAt:s.dateOrNull("due_at")}})}i(Ys,"readRetries");function Xs(t){let e=f(t);return{epoch:e.number("epoch"),scope:e.text("scope"),kind:e.text("kind"),name:e.text("name"),nth:e.number("nth")}}i(Xs,"callOf");var Zs=`c.tenant_id, c.run_id, c.consent_id, c.status, c.title, c.request_digest,
  c.deciders, c.quorum, c.requester_may_decide, c.on_expiry, c.source, c.created_at, c.expires_at, c.closed_at, c.closed_by,
  run.workflow_name, run.requested_by`,mo=`${Zs}, c.request_text, c.stored_digest`,qn=`from ghouls.consents c
join ghouls.runs run on run.tenant_id = c.tenant_id and run.run_id = c.run_id`,bp=h("consents.read",`
select ${mo}
${qn}
where c.tenant_id = $1 and c.consent_id = $2`),xp=h("consents.decisions",`
select s.subject, s.verdict, s.decided_at, s.comment_text
from ghouls.consent_decisions s
where s.tenant_id = $1 and s.run_id = $2 and s.consent_id = $3
order by s.decided_at, s.subject`),Ep=h("consents.page",`
select ${Zs}, ${J("c.created_at")},
  encode(sha256(convert_to(c.request_text, 'UTF8')), 'hex') = c.stored_digest as intact
${qn}
where c.tenant_id = $1 and ($3::uuid is null or c.run_id = $3) and ($4::text is null or c.status = $4)
  and ${Sn("c.created_at","c.consent_id",5)}
order by c.created_at desc, c.consent_id desc
limit $2`),Ip=h("consents.lock",`
select c.status, c.closed_by, c.deciders, c.quorum, c.requester_may_decide, c.request_digest,
  coalesce(c.expires_at <= ghouls.clock(), false) as expired
from ghouls.consents c
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3
for update`),Sp=g("consents.decide",`
with word as (
  insert into ghouls.consent_decisions (tenant_id, run_id, consent_id, subject, verdict, comment_text, comment_digest, decided_at)
  select c.tenant_id, c.run_id, c.consent_id, $4, $5, $6, $7, ghouls.clock()
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
  on conflict (tenant_id, run_id, consent_id, subject) do nothing
  returning tenant_id, run_id, consent_id, decided_at
), closed as (
  update ghouls.consents c
  set status = $8, closed_at = word.decided_at, closed_by = $4
  from word
  where $8 <> 'PENDING' and c.tenant_id = word.tenant_id and c.run_id = word.run_id and c.consent_id = word.consent_id
    and c.status = 'PENDING'
  returning c.consent_id
)
select (select count(*) from closed)::integer as closed from word`);async function ea(t,e,n,r){let o=await $n(t,e);return o===null?null:t.transaction("consents.decide",async s=>{await N(s,[o]);let a=[o.tenantId,o.runId,o.consentId],[d]=await s.run(Ip,a);if(d===void 0)return null;let u=f(d),l=Br({status:u.text("status"),closedBy:u.textOrNull("closed_by"),deciders:o.deciders,quorum:o.quorum,requesterMayDecide:o.requesterMayDecide,requestedBy:o.requestedBy,requestDigest:o.requestDigest,expired:u.boolean("expired"),decisions:await po(s,o)},n,r.asSource===!0),c=l.kind==="counts"||l.kind==="expired";if(l.kind==="counts"){let{subject:w,verdict:k,commentText:x,commentDigest:O}=n;await s.run(Sp,[...a,w,k,x,O,l.becomes])}let m=c?await ge(s,o,r.publisherGraceSeconds):null,p=c?await $n(s,e)??o:o;return{judgement:l,consent:{...p,status:c?p.status:u.text("status")},resumption:m}})}i(ea,"decideConsent");async function $n(t,e){let[n]=await t.run(bp,[e.tenantId,e.consentId]);return n===void 0?null:fo(n)}i($n,"readConsent");async function po(t,e){return(await t.run(xp,[e.tenantId,e.runId,e.consentId])).map(r=>{let o=f(r);return{by:o.text("subject"),verdict:o.text("verdict"),at:o.date("decided_at"),commentText:o.textOrNull("comment_text")}})}i(po,"readDecisions");async function ta(t,e,n,r){let o=await t.run(Ep,Cn(e,n,r)),{shown:s,next:a}=An(o,r.limit,"consent_id",d=>({...na(d),intact:f(d).boolean("intact")}));return{consents:s,next:a}}i(ta,"readConsentPage");function fo(t){let e=f(t);return{...na(t),requestText:e.text("request_text"),storedDigest:e.text("stored_digest")}}i(fo,"consentOf");function na(t){let e=f(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),consentId:e.text("consent_id"),status:e.text("status"),title:e.text("title"),requestDigest:e.text("request_digest"),deciders:e.texts("deciders"),quorum:e.number("quorum"),requesterMayDecide:e.boolean("requester_may_decide"),onExpiry:e.text("on_expiry"),source:e.textOrNull("source"),workflow:e.text("workflow_name"),requestedBy:e.text("requested_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}i(na,"listedOf");var Pn=ye("run","FAILING"),go=`(
      select held.status from ghouls.deliveries held
      where held.tenant_id = run.tenant_id and held.run_id = run.run_id and held.seq = run.enqueue_seq
    ) is distinct from 'HELD'`,Cp=h("runs.overdue",`
select run.tenant_id, run.run_id, run.status, run.deadline_at, ${J("run.deadline_at")}
from ghouls.runs run
where run.deadline_at <= ghouls.clock() and run.status in (${E(Pn)}) and run.quarantined_at is null
  and ${go} and ${Y("run.deadline_at","run.run_id",2)}
order by run.deadline_at, run.run_id
limit $1`),vp=g("runs.fail-overdue",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(Pn)})
    and run.quarantined_at is null and run.deadline_at <= ghouls.clock()
  for update
), ${Rn("$5")}
update ghouls.runs run
set status = 'FAILING', error_code = 'deadline', error_text = $3, error_digest = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function ra(t,e,n){let r=await t.run(Cp,[e,...Z(n)]);return ee(r,e,o=>{let s=f(o);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),status:s.text("status"),deadlineAt:s.date("deadline_at")}})}i(ra,"readOverdueRuns");async function oa(t,e,n){return t.transaction("runs.fail-overdue",async r=>{await N(r,[e]);let{tenantId:o,runId:s,errorText:a,errorDigest:d}=e,[u]=await r.run(vp,[o,s,a,d,n]);return u===void 0?null:await Q(r,e)??f(u).text("status")})}i(oa,"failOverdueRun");var Np=h("deliveries.expired-holds",`
select d.tenant_id, d.run_id, d.hold_expires_at, ${J("d.hold_expires_at")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'HELD' and d.hold_expires_at <= ghouls.clock() and run.status = 'QUEUED' and run.quarantined_at is null
  and ${Y("d.hold_expires_at","d.run_id",2)}
order by d.hold_expires_at, d.run_id
limit $1`),Op=g("deliveries.expire-holds",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q(tenant_id, run_id, error_text, error_digest)
), expired as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.error_text, wanted.error_digest
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
  where ${Mt("run.status","FAILING")} and run.quarantined_at is null
    and d.status = 'HELD' and ${xn("d.status","FENCED")} and d.hold_expires_at <= ghouls.clock()
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
returning run.tenant_id, run.run_id, run.status`);async function ia(t,e,n){let r=await t.run(Np,[e,...Z(n)]);return ee(r,e,o=>({...aa(o),expiredAt:f(o).date("hold_expires_at")}))}i(ia,"readExpiredHolds");async function sa(t,e){return e.length===0?[]:t.transaction("deliveries.expire-holds",async n=>{await N(n,e);let r=await n.run(Op,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.errorText),e.map(s=>s.errorDigest)]),o=[];for(let s of r){let a=aa(s),d=f(s).text("status");o.push({...a,status:await Q(n,a)??d})}return o})}i(sa,"expireHolds");function aa(t){return{tenantId:f(t).text("tenant_id"),runId:f(t).text("run_id")}}i(aa,"keyOf");var $p=g("intents.open",`
with ${G(W)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`),qp=h("intents.of-call",`
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`),Pp=g("intents.close",`
with ${G(W)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`),Lp=h("intents.open-of-run",`
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`),Tp=h("intents.last-numbers",`
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`);function _o(t){return[t.epoch,t.scope,t.kind,t.name,t.nth]}i(_o,"callOf");async function da(t,e,n,r){return(await t.run($p,[e.tenantId,e.runId,e.seq,e.token,..._o(n),r])).length===1?!0:(await t.run(qp,[e.tenantId,e.runId,..._o(n),r,e.token])).length===1}i(da,"openIntentIfClaimed");async function ua(t,e,n,r,o){let s=[e.tenantId,e.runId,e.seq,e.token];return(await t.run(Pp,[...s,..._o(n),r,o])).length===1}i(ua,"closeIntentIfClaimed");async function la(t,e){return(await t.run(Lp,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),seq:o.number("seq"),token:o.text("token"),over:r.over===!0,overAt:o.dateOrNull("over_at")}})}i(la,"readOpenIntents");async function ca(t,e){return(await t.run(Tp,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),tries:o.number("tries")}})}i(ca,"readLastIntents");var jp=h("items.of-run",`
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`),zp=h("items.due",`
select i.tenant_id, i.run_id, ${J("i.due_at")}
from (
  (select i.tenant_id, i.run_id, i.next_look_at as due_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and i.next_look_at <= ghouls.clock() and ${Y("i.next_look_at","i.run_id",2)}
  order by i.next_look_at, i.run_id
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where run.status in (${E(K)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and ${Y("run.created_at","run.run_id",2)}
  order by run.created_at, run.run_id
  limit $1)
) as i
order by i.due_at, i.run_id
limit $1`),Fp=g("items.acknowledge-over",`
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null
    and ((i.kind = 'worker' and i.over_at <= ghouls.clock())
      or (i.kind = 'child' and exists (
        select from ghouls.runs child
        where child.tenant_id = i.tenant_id and child.run_id = i.token
          and child.status in (${E(pe("run"))}))))
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = case i.kind when 'worker' then 'time' else 'child' end,
    acknowledgement = case i.kind when 'worker' then 'nothing of its claim can act any more' else 'the run has ended' end
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`),Gp=g("items.look-later",`
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
  when i.kind in ('attempt', 'child') then false
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.cause = 'contain') >= $3
  end as needs_word, i.kind`),Up=g("deliveries.contain",`
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(K)})
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
returning seq`);async function ma(t,e){return(await t.run(jp,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{kind:o.text("kind"),key:o.text("key"),seq:o.number("seq"),worker:o.text("worker"),overAt:o.dateOrNull("over_at"),createdAt:o.date("created_at"),tries:o.number("tries"),lastError:o.textOrNull("last_error"),acknowledgedAt:o.dateOrNull("acknowledged_at"),acknowledgedBy:o.textOrNull("acknowledged_by"),acknowledgement:o.textOrNull("acknowledgement")}})}i(ma,"readItems");async function pa(t,e,n){let r=await t.run(zp,[e,...Z(n)]),{found:o,next:s}=ee(r,e,a=>({tenantId:f(a).text("tenant_id"),runId:f(a).text("run_id")}));return{found:[...new Map(o.map(a=>[a.runId,a])).values()],next:s}}i(pa,"readDueItems");async function yo(t,e){let n=await t.run(Fp,[e.tenantId,e.runId]);return n.length>0&&await On(t,e),n.length>0}i(yo,"acknowledgeOver");async function ho(t,e,n){let r=[e.tenantId,e.runId];return t.transaction("items.contain",async o=>{await N(o,[e]),await yo(o,e);let s=await Q(o,e);if(s!==null)return{ended:s,contain:!1,needsWord:!1,children:!1};let a=await o.run(Up,[...r,n]),d=await o.run(Gp,[...r,n]);return{ended:s,contain:a.length===1,needsWord:a.length===0&&d.some(u=>u.needs_word===!0),children:d.some(u=>u.kind==="child")}})}i(ho,"containRun");var wo=`k.tenant_id, k.key_id, k.subject, k.roles, k.permissions, k.created_by, k.created_at, k.expires_at, k.last_used_at,
  k.revoked_at, k.revoked_by, k.revocation_reason, coalesce(k.expires_at <= ghouls.clock(), false) as expired`,Kp=h("keys.by-id",`
select ${wo}, k.digest, coalesce(k.last_used_at < ghouls.clock() - interval '1 hour', true) as use_is_due
from ghouls.api_keys k
where k.key_id = $1`),Bp=g("keys.mark-used",`
update ghouls.api_keys k
set last_used_at = ghouls.clock()
where k.tenant_id = $1 and k.key_id = $2
  and (k.last_used_at is null or k.last_used_at < ghouls.clock() - interval '1 hour')`),Hp=g("keys.create",`
insert into ghouls.api_keys (tenant_id, key_id, digest, subject, roles, permissions, created_by, created_at, expires_at)
select q.tenant_id, q.key_id, q.digest, q.subject, array(select jsonb_array_elements_text(q.roles::jsonb)),
  array(select jsonb_array_elements_text(q.permissions::jsonb)), coalesce(q.created_by, 'database role ' || session_user),
  ghouls.clock(), ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::double precision[])
  as q(tenant_id, key_id, digest, subject, roles, permissions, created_by, expires_ms)
order by q.key_id
on conflict (key_id) do nothing`),Jp=h("keys.page",`
select ${wo}
from ghouls.api_keys k
order by k.created_at desc, k.key_id
limit $1`),Vp=h("keys.page-of-tenant",`
select ${wo}
from ghouls.api_keys k
where k.tenant_id = $1
order by k.created_at desc, k.key_id
limit $2`),Qp=g("keys.revoke",`
update ghouls.api_keys k
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where k.key_id = $1 and k.revoked_at is null
returning k.tenant_id, k.key_id`);async function Ln(t,e){let[n]=await t.run(Kp,[e]);if(n===void 0)return null;let r=f(n);return{...ka(n),digest:r.text("digest"),useIsDue:r.boolean("use_is_due")}}i(Ln,"readKey");async function fa(t,e){await t.run(Bp,[e.tenantId,e.keyId])}i(fa,"markKeyUsed");async function ga(t,e){let n=i(r=>e.map(r),"column");return await wa(t,Hp,[n(r=>r.tenantId),n(r=>r.keyId),n(r=>r.digest),n(r=>r.subject),n(r=>JSON.stringify(r.roles)),n(r=>JSON.stringify(r.permissions)),n(r=>r.createdBy),n(r=>r.expiresInMs)]),Promise.all(e.map(r=>Yp(t,r)))}i(ga,"createKeys");async function Yp(t,{tenantId:e,keyId:n,digest:r}){let o=await Ln(t,n);if(o!==null&&o.tenantId===e&&Ke(o.digest,r))return ha(o);throw new y("idempotency_conflict",`the id ${n} is another key's`,{fix:"Make a key anew: its id is random."})}i(Yp,"readMade");async function _a(t,e,n){return(e.tenantId===void 0?await t.run(Jp,[n]):await t.run(Vp,[e.tenantId,n])).map(ka)}i(_a,"readKeyPage");async function ya(t,e,n){let r=await wa(t,Qp,[e,n.actor,n.reason]),o=await Ln(t,e);return o===null?null:{revoked:r.length>0,key:ha(o)}}i(ya,"revokeKey");function ha({digest:t,useIsDue:e,...n}){return n}i(ha,"shown");async function wa(t,e,n){try{return await t.run(e,n)}catch(r){throw!(r instanceof L)||r.sqlState!=="42501"?r:new y("configuration_invalid","this role may not manage keys",{fix:"Give the connection string of the role that owns the schema (GHOULS_MIGRATION_DATABASE_URL): the application's only reads keys.",cause:r})}}i(wa,"asManager");function ka(t){let e=f(t);return{tenantId:e.text("tenant_id"),keyId:e.text("key_id"),subject:e.text("subject"),roles:e.texts("roles"),permissions:e.texts("permissions"),createdBy:e.text("created_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),lastUsedAt:e.dateOrNull("last_used_at"),revokedAt:e.dateOrNull("revoked_at"),revokedBy:e.textOrNull("revoked_by"),revocationReason:e.textOrNull("revocation_reason"),expired:e.boolean("expired")}}i(ka,"keyOf");var Zp=h("consents.to-look-up",`
select ${mo}, c.looks, ${J("c.next_look_at")}
${qn}
where c.status = 'PENDING' and c.source is not null and c.next_look_at <= ghouls.clock()
  and ${Y("c.next_look_at","c.run_id",2)}
order by c.next_look_at, c.run_id
limit $1`),ef=g("consents.looked-up",`
update ghouls.consents c
set looks = c.looks + 1, next_look_at = ghouls.clock() + $4::double precision * interval '1 second'
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
returning c.looks`);async function ba(t,e,n){let r=await t.run(Zp,[e,...Z(n)]);return ee(r,e,o=>({...fo(o),looks:f(o).number("looks")}))}i(ba,"readConsentsToLookUp");async function xa(t,e,n){await t.run(ef,[e.tenantId,e.runId,e.consentId,n])}i(xa,"postponeLookUp");var nf=h("deliveries.lapsed",`
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses,
  ${J("d.lease_until")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() and ($2::uuid[] is null or d.run_id = any($2::uuid[]))
  and ${Y("d.lease_until","d.run_id",3)}
order by d.lease_until, d.run_id
limit $1`),rf=g("deliveries.settle-lost",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${E(K)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${E(K)})
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
  select i.tenant_id, i.run_id, ${Pe} as key, i.seq, i.token, lost.claimed_by
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
left join next on next.run_id = moved.run_id`);async function Ea(t,e,{after:n,runIds:r=null}={}){let o=await t.run(nf,[e,r,...Z(n)]);return ee(o,e,s=>{let a=f(s);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),seq:a.number("seq"),token:a.text("token"),worker:a.text("claimed_by"),runStatus:a.text("status"),onWorkerLoss:a.text("on_worker_loss"),losses:a.number("losses")}})}i(Ea,"readLapsedClaims");async function Ia(t,e,n){return e.length===0?[]:t.transaction("deliveries.settle-lost",async r=>(await N(r,e),(await r.run(rf,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.seq),e.map(s=>s.token),e.map(s=>s.errorText),e.map(s=>s.errorDigest),n.maxLosses,n.actsMarginSeconds,n.publisherGraceSeconds])).map(s=>{let a=f(s);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),status:a.text("status"),enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}})))}i(Ia,"settleLostClaims");var sf=h("children.due",`
select e.tenant_id, e.run_id, e.parent_run_id, ${J("e.next_look_at")}
from ghouls.child_ends e
where e.next_look_at <= ghouls.clock() and ${Y("e.next_look_at","e.run_id",2)}
order by e.next_look_at, e.run_id
limit $1`),af=h("children.awaited",`
select exists (
  select from ghouls.runs child
  join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id and arm.arm_id = child.parent_arm_id
  where child.tenant_id = $1 and child.run_id = $2 and arm.closed_at is null
) or exists (
  select from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $3 and i.kind = 'child' and i.key = $2::uuid::text and i.acknowledged_at is null
) as awaited`),df=g("children.forget-end","delete from ghouls.child_ends e where e.tenant_id = $1 and e.run_id = $2 returning e.run_id"),uf=g("children.look-later",`
update ghouls.child_ends e
set looks = e.looks + 1, next_look_at = ghouls.clock() + least(600, 5 * power(2, least(e.looks, 8))) * interval '1 second'
where e.tenant_id = $1 and e.run_id = $2
returning e.looks`),lf=h("children.to-cancel",`
select child.tenant_id, child.run_id
from ghouls.containment_items i
join ghouls.runs child on child.tenant_id = i.tenant_id and child.run_id = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'child' and i.acknowledged_at is null and child.parent_close = 'cancel'
  and child.status in (${E(ye("run","CANCELLING"))})
order by child.run_id`);async function Sa(t,e,n){let r=await t.run(sf,[e,...Z(n)]);return ee(r,e,o=>{let s=f(o);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),parentRunId:s.text("parent_run_id")}})}i(Sa,"readChildEnds");async function Aa(t,{tenantId:e,runId:n,parentRunId:r},o){let s={tenantId:e,runId:r};return t.transaction("children.tell-parent",async a=>{let d=(await N(a,[s])).get(r),u=d!==void 0&&!fe(d),l=u&&await yo(a,s)?await Q(a,s):null,c=u?await ge(a,s,o):null,[m]=await a.run(af,[e,n,r]),p=u&&m!==void 0&&f(m).boolean("awaited");return await a.run(p?uf:df,[e,n]),{resumption:c,ended:l}})}i(Aa,"tellParent");async function Ca(t,e){return(await t.run(lf,[e.tenantId,e.runId])).map(r=>({tenantId:f(r).text("tenant_id"),runId:f(r).text("run_id")}))}i(Ca,"readChildrenToCancel");var mf=g("children.start",`
with ${G(W)}, arm as (
  insert into ghouls.arms (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, created_at)
  select held.tenant_id, held.run_id, $5::uuid, $6, $7, 'child', $8, $9, 'child', held.generation + 1, held.seq, ghouls.clock()
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null do nothing
  returning tenant_id, run_id, arm_id, created_at
), parent as (
  update ghouls.runs run
  set children = run.children + 1, losses = 0, idle_yields = 0
  from arm
  where run.tenant_id = arm.tenant_id and run.run_id = arm.run_id
  returning run.tenant_id, run.run_id, run.priority, run.agent, run.requested_by, run.requested_roles, arm.arm_id, arm.created_at
), child as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
    queue, priority, agent, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, deadline_at, created_at,
    on_worker_loss, parent_run_id, parent_arm_id, parent_close)
  select parent.tenant_id, $10::uuid, $10::uuid, $11, $12, $13::integer, $14, $15, coalesce($16::smallint, parent.priority), parent.agent,
    parent.requested_by, parent.requested_roles, 'QUEUED', 1, $17, $18,
    parent.created_at + $19::double precision * interval '1 millisecond', parent.created_at, $20, parent.run_id, parent.arm_id, $21
  from parent
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select child.tenant_id, child.run_id, child.enqueue_seq, 'admitted', 'PENDING', child.queue, child.priority, child.created_at,
  child.created_at + $22::double precision * interval '1 second', child.created_at
from child
returning run_id`),pf=h("children.started",`
select child.run_id
from ghouls.runs child
where child.tenant_id = $1 and child.parent_run_id = $2 and child.parent_arm_id = $3::uuid`);async function va(t,e,n,r){let{call:o,workflow:s}=n,[a]=await t.run(mf,[e.tenantId,e.runId,e.seq,e.token,n.armId,o.epoch,o.scope,o.name,o.nth,n.runId,n.requestDigest,s.name,s.version,s.digest,n.queue,n.priority,n.inputText,n.inputDigest,n.deadlineMs,n.onWorkerLoss,n.parentClose,r.publisherGraceSeconds]);if(a!==void 0)return!0;let[d]=await t.run(pf,[e.tenantId,e.runId,n.armId]);return d!==void 0&&f(d).text("run_id")===n.runId}i(va,"startChildIfClaimed");var Na="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation",ko=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at, run.starts_at,
  run.deadline_at, run.epoch, run.journal_start, run.idle_yields, run.workflow_absent_since, run.open_items, run.parent_run_id`,gf=g("deliveries.claim",`
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
      or (d.cause = 'contain' and r.status in (${E(K)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${xn("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
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
  returning run.tenant_id, run.run_id, ${ko}
)
select ${Na}, ${ko}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),_f=h("deliveries.claimed-by-token",`
select ${Na}, ${ko}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),yf=h("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  run.paused_at is not null as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function Oa(t,e,n){let r=$a(e),o=e.map(d=>d.token),s=await t.run(gf,[...r,o,n.worker,n.leaseSeconds,n.actsForSeconds]);return s.length===e.length?s.map(Da):(await t.run(_f,[...r,o])).map(Da)}i(Oa,"claimDeliveriesIfDue");async function Ra(t,e){let n=await t.run(yf,$a(e));return new Map(n.map(r=>{let o=f(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}i(Ra,"readUnclaimed");function $a(t){return[t.map(e=>e.runId),t.map(e=>e.enqueueSeq)]}i($a,"arrays");function Da(t){let e=f(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),seq:e.number("seq"),token:e.text("token"),cause:e.text("cause"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},firstRunId:e.text("first_run_id"),queue:e.text("queue"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),inputText:e.text("input_text"),inputDigest:e.text("input_digest"),journalLength:e.number("journal_length"),journalBytes:e.number("journal_bytes"),admittedAt:e.date("created_at"),startsAt:e.dateOrNull("starts_at"),deadlineAt:e.dateOrNull("deadline_at"),checkpointGeneration:e.numberOrNull("checkpoint_generation"),epoch:e.number("epoch"),journalStart:e.number("journal_start"),idleYields:e.number("idle_yields"),workflowAbsentSince:e.dateOrNull("workflow_absent_since"),claimedAt:e.date("claimed_at"),actsUntil:e.dateOrNull("acts_until"),parentRunId:e.textOrNull("parent_run_id")}}i(Da,"claimedRun");var hf=g("deliveries.record-worker-end",`
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
returning d.run_id`),wf=g("items.record-worker-end",`
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
returning i.run_id`);async function qa(t,e){let n=await t.run(hf,[e.worker,e.how]),r=e.actsMarginSeconds??kf;return await t.run(wf,[e.worker,r]),await Hs(t,e.worker,r),n.length}i(qa,"recordWorkerEnd");var kf=60;var xf=g("journal.append",`
with ${G(W)}, entry as (
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
  and (select count(*) from effect) >= 0`),Ef=h("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_digest
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),If=h("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.ordinal > $3
order by j.ordinal`);async function La(t,e,n){let r=[n.epoch,n.scope,n.kind,n.name,n.nth],[o]=await t.run(xf,[e.tenantId,e.runId,e.seq,e.token,...r,n.outcome,n.resultText,n.resultDigest,n.tries,n.tookMs,n.resultBytes,n.closesIntent??!1]);if(o!==void 0)return Pa(o);let[s]=await t.run(Ef,[e.tenantId,e.runId,...r]);return s!==void 0&&s.token===e.token&&s.outcome===n.outcome&&s.result_digest===n.resultDigest?Pa(s):null}i(La,"appendEntryIfClaimed");function Pa(t){let e=f(t);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}i(Pa,"appended");async function Ta(t,e,n=0){return(await t.run(If,[e.tenantId,e.runId,n])).map(o=>{let s=f(o);return{ordinal:s.number("ordinal"),epoch:s.number("epoch"),scope:s.text("scope"),kind:s.text("kind"),name:s.text("name"),nth:s.number("nth"),outcome:s.text("outcome"),resultText:s.textOrNull("result_text"),resultDigest:s.textOrNull("result_digest"),tries:s.number("tries"),seq:s.number("seq"),token:s.text("token"),startedAt:s.date("started_at"),completedAt:s.date("completed_at")}})}i(Ta,"readJournal");var Af=h("ledger.next-look",`
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
        or (d.cause = 'contain' and run.status in (${E(K)})
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
  (select a.due_at
  from ghouls.arms a
  join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
  where a.closed_at is null and a.due_at is not null and run.status in (${E(Le)})
    and run.quarantined_at is null
  order by a.due_at
  limit 1)
  union all
  (select c.next_look_at
  from ghouls.consents c
  where c.status = 'PENDING' and c.source is not null
  order by c.next_look_at
  limit 1)
  union all
  (select t.next_look_at
  from ghouls.attempts t
  where t.status not in (${E(re)})
  order by t.next_look_at
  limit 1)
  union all
  (select e.next_look_at
  from ghouls.child_ends e
  order by e.next_look_at
  limit 1)
  union all
  (select run.deadline_at
  from ghouls.runs run
  where run.deadline_at is not null and run.status in (${E(Pn)}) and run.quarantined_at is null
    and ${go}
  order by run.deadline_at
  limit 1)
  union all
  (select ghouls.clock()
  from ghouls.runs run
  where run.status in (${E(K)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
  order by run.created_at
  limit 1)
) as due`);async function Ma(t){let[e]=await t.run(Af,[]);return e===void 0?null:f(e).numberOrNull("due_in")}i(Ma,"readNextLook");var Cf=g("consents.open",`
insert into ghouls.consents (tenant_id, run_id, consent_id, arm_id, status, title, request_text, stored_digest, request_digest,
  deciders, quorum, requester_may_decide, on_expiry, source, next_look_at, created_at, expires_at)
select a.tenant_id, a.run_id, $4, a.arm_id, 'PENDING', $5, $6, $7, $8, $9::text[], $10, $11, $12, $13,
  case when $13::text is null then null else a.created_at end, a.created_at, a.due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning consent_id`),vf=g("attempts.open",`
insert into ghouls.attempts (tenant_id, run_id, attempt_id, arm_id, call_key, status, service, adapter, adapter_version,
  service_digest, lookup, submit, cancel, delay_seconds, poll_seconds, heartbeat_seconds, request_text, stored_digest,
  request_digest, idempotency_key, deadline_at, next_look_at, created_at)
select a.tenant_id, a.run_id, $4, a.arm_id, json_build_array(a.epoch, a.scope, a.kind, a.name, a.nth)::text, 'DEFINED', $5, $6,
  $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, a.created_at + $19::double precision * interval '1 second',
  a.created_at + $20::double precision * interval '1 second', a.created_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning attempt_id`);async function ja(t,e,{armId:n,consent:r,attempt:o},s){r!==void 0&&await Df(t,e,n,r),o!==void 0&&await Nf(t,e,n,o,s.publisherGraceSeconds)}i(ja,"openOwner");async function Df(t,e,n,r){await t.run(Cf,[e.tenantId,e.runId,n,r.consentId,r.title,r.requestText,r.storedDigest,r.requestDigest,r.deciders,r.quorum,r.requesterMayDecide,r.onExpiry,r.source])}i(Df,"openConsent");async function Nf(t,e,n,r,o){let{traits:s}=r;await t.run(vf,[e.tenantId,e.runId,n,r.attemptId,r.service,r.adapter,r.adapterVersion,r.serviceDigest,s.lookup,s.submit,s.cancel,s.delaySeconds,r.pollSeconds,r.heartbeatSeconds,r.requestText,r.storedDigest,r.requestDigest,r.idempotencyKey,r.deadlineSeconds,o])}i(Nf,"openAttempt");var za=g("arms.open",`
with ${G(W)}, wanted as materialized (
  select q.* from unnest($6::uuid[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::integer[], $12::text[],
    $13::timestamptz[], $14::integer[], $15::double precision[])
    as q(arm_id, epoch, scope, kind, name, nth, owner, due_at, tries, due_in)
)
insert into ghouls.arms as a (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, due_at, tries,
  created_at)
select held.tenant_id, held.run_id, w.arm_id, w.epoch, w.scope, w.kind, w.name, w.nth, w.owner, held.generation + 1, held.seq,
  coalesce(w.due_at, ghouls.clock() + w.due_in * interval '1 second'), w.tries, ghouls.clock()
from held cross join wanted w
where held.journal_length = $5
on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null
do update set generation = excluded.generation,
  due_at = case when excluded.tries > a.tries then excluded.due_at else a.due_at end,
  tries = greatest(a.tries, excluded.tries)
returning a.arm_id`),Of=g("arms.close-steps",`
update ghouls.arms a
set closed_at = ghouls.clock(), closing = 'step'
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null and a.kind = 'step' and a.generation < $3
returning a.arm_id`),Rf=g("deliveries.park",`
with ${G(W)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'parked', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = $8, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.generation, run.status, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
), wait as (
  insert into ghouls.waits (tenant_id, run_id, generation, seq, opened_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, moved.settled_at
  from moved
  returning run_id
)
select moved.status
from moved
join checkpoint on checkpoint.run_id = moved.run_id
join wait on wait.run_id = moved.run_id`),$f=g("deliveries.continue",`
with ${G(W)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0
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
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $8::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),qf=h("deliveries.parked",`
select d.outcome, run.status, next.seq, next.queue
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
left join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED'
  and d.outcome in ('parked', 'continued')`);async function Fa(t,e,n,r,o){return t.transaction("deliveries.park",async s=>{await N(s,[e]);let a=await s.run(za,[...Wt(e),n.journalLength,...Ua(r)]);if(a.length!==r.length)return Tf(s,e);let d=new Set(a.map(x=>f(x).text("arm_id")));for(let x of r)d.has(x.armId)&&await ja(s,e,x,o);let u=await Ut(s,e),l=Math.max(...u.map(x=>x.generation));await s.run(Of,[e.tenantId,e.runId,l]);let c=u.filter(x=>x.generation===l||x.call.kind!=="step"),m=Pf(c,l,r);if(m!==void 0)throw new Tn(m.what,m);let p=[n.workflowDigest,n.journalLength,n.journalDigest],w=await ro(s,e);if(w.length===0){let x=Kr(c.map(({owner:q})=>q)),[O]=await s.run(Rf,[...Wt(e),...p,x]);if(O===void 0)throw new TypeError("a run that is locked and held was not parked");return{kind:"parked",status:x,arms:c}}await oo(s,e,e.seq,w);let[k]=await s.run($f,[...Wt(e),...p,o.publisherGraceSeconds]);if(k===void 0)throw new TypeError("a run that is locked and held was not continued");return{kind:"continued",next:Me(k)}}).catch(s=>{if(s instanceof Tn)return{kind:"mismatch",...s.problem};throw s})}i(Fa,"parkIfClaimed");async function Ga(t,e,n,r,o){return t.transaction("deliveries.yield-standing",async s=>{await N(s,[e]);let a=await s.run(za,[...Wt(e),n.journalLength,...Ua(r)]),d=await Dn(s,e,n,o);if(d===null&&a.length>0)throw new TypeError("a run that is locked and held was not handed over");return d})}i(Ga,"yieldStandingIfClaimed");var Tn=class extends Error{static{i(this,"Mismatch")}problem;constructor(e,n){super(e),this.problem=n}};function Pf(t,e,n){let r=t.find(o=>o.generation<e);if(r!==void 0)return{what:`${r.call.kind} "${r.call.name}" stands open, but the code does not ask for it any more`};for(let{call:o,consent:s,attempt:a}of n){let d=s??a,u=d&&t.find(l=>Lf(l.call,o));if(u!==void 0&&u.requestDigest!==null&&u.requestDigest!==d?.requestDigest)return{what:`the ${o.kind} "${o.name}" was frozen with another request than the code asks for now`,key:R(o),ownerId:u.consentId??u.attemptId??""}}}i(Pf,"mismatchOf");function Lf(t,e){return t.epoch===e.epoch&&t.scope===e.scope&&t.kind===e.kind&&t.name===e.name&&t.nth===e.nth}i(Lf,"sameCall");async function Tf(t,e){let[n]=await t.run(qf,Wt(e));if(n===void 0)return null;let r=f(n);return r.text("outcome")==="continued"?{kind:"continued",next:Me(n)}:{kind:"parked",status:r.text("status"),arms:await Ut(t,e)}}i(Tf,"answerOfEarlierTry");function Ua(t){return[t.map(({armId:e})=>e),t.map(({call:e})=>e.epoch),t.map(({call:e})=>e.scope),t.map(({call:e})=>e.kind),t.map(({call:e})=>e.name),t.map(({call:e})=>e.nth),t.map(({owner:e})=>e),t.map(({dueAt:e})=>e),t.map(({tries:e})=>e),t.map(({consent:e})=>e?.expiresInSeconds??null)]}i(Ua,"columnsOf");function Wt(t){return[t.tenantId,t.runId,t.seq,t.token]}i(Wt,"keyOf");var Wa=P("run").filter(t=>!fe(t)),jf=h("runs.open-of-pins",`
select run.workflow_name, run.workflow_version, run.workflow_digest, count(*)::integer as runs
from ghouls.runs run
where run.tenant_id = $1 and run.status in (${E(Wa)})
  and (run.workflow_name, run.workflow_version, run.workflow_digest) in (
    select q.name, q.version, q.digest
    from unnest($2::text[], $3::integer[], $4::text[]) as q(name, version, digest))
group by run.workflow_name, run.workflow_version, run.workflow_digest`);async function Ka(t,e,n){return n.length===0?[]:(await t.run(jf,[e,...Ff(n)])).map(o=>({...Ha(o),runs:f(o).number("runs")}))}i(Ka,"countOpenRunsOfPins");var zf=h("runs.stranded",`
with stranded as materialized (
  select run.run_id, run.status, run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.status in (${E(Wa.filter(t=>!K.includes(t)))})
    and (run.workflow_name, run.workflow_digest) not in (
      select q.name, q.digest
      from unnest($2::text[], $3::text[]) as q(name, digest))
)
select s.run_id, s.status, s.workflow_name, s.workflow_version, s.workflow_digest, count(*) over ()::integer as runs
from stranded s
order by s.created_at desc, s.run_id desc
limit $4`);async function Ba(t,e,n,r){let o=await t.run(zf,[e,n.map(({name:a})=>a),n.map(({digest:a})=>a),r]),[s]=o;return{runs:o.map(a=>({runId:f(a).text("run_id"),status:f(a).text("status"),workflow:Ha(a)})),count:s===void 0?0:f(s).number("runs")}}i(Ba,"readStrandedRuns");function Ff(t){return[t.map(e=>e.name),t.map(e=>e.version),t.map(e=>e.digest)]}i(Ff,"columnsOf");function Ha(t){let e=f(t);return{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")}}i(Ha,"pinOf");var Uf=h("deliveries.due-publications",`
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
      or (d.cause = 'contain' and run.status in (${E(K)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`),Wf=g("deliveries.mark-published",`
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
  next_publication_at = greatest(ghouls.clock(), d.due_at)
    + ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`),Kf=g("deliveries.mark-publication-failed",`
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
returning d.run_id, d.publication_failures`);async function Ja(t,e){return(await t.run(Uf,[e])).map(r=>{let o=f(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications")}})}i(Ja,"readDuePublications");async function Va(t,e,n=dn.afterSuccess){return e.length===0?0:(await t.run(Wf,[...Ya(e),n])).length}i(Va,"markPublished");async function Qa(t,e,n=dn.afterFailure){if(e.length===0)return 0;let r=e.map(s=>s.publication),o=e.map(s=>s.reason.slice(0,500).replaceAll("\0",""));return(await t.run(Kf,[...Ya(r),n,o])).length}i(Qa,"markPublicationFailed");function Ya(t){return[t.map(e=>e.tenantId),t.map(e=>e.runId),t.map(e=>e.enqueueSeq)]}i(Ya,"arrays");var Hf=g("runs.clear-quarantine",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.quarantined_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue
)
update ghouls.runs run
set quarantined_at = null, quarantine_reason = null
from r
left join due on due.tenant_id = r.tenant_id and due.run_id = r.run_id
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
returning run.status, due.seq, due.queue`);async function Xa(t,e,n,r){return t.transaction("runs.clear-quarantine",async o=>{let s=(await N(o,[e])).get(e.runId);if(s===void 0)return null;let[a]=await o.run(Hf,[e.tenantId,e.runId]);if(a===void 0)return{cleared:!1,status:s,resumption:null};await Te(o,e,{...n,act:"clear",subject:"quarantine"});let d=await Q(o,e);if(d!==null)return{cleared:!0,status:d,resumption:null};let u=await ge(o,e,r);if(u!==null)return{cleared:!0,status:"QUEUED",resumption:u};let l=f(a),[c,m]=[l.numberOrNull("seq"),l.textOrNull("queue")],p=c===null||m===null?null:{...e,enqueueSeq:c,queue:m};return{cleared:!0,status:l.text("status"),resumption:p}})}i(Xa,"clearQuarantine");var td=`run.tenant_id, run.run_id, run.parent_run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.deadline_at, run.starts_at,
  run.created_at, run.started_at, run.finished_at`,Vf=h("runs.get",`
select ${td}, run.request_digest, run.input_text, run.input_digest, run.output_text, run.error_text
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),nd=`
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`,xo=`
order by run.created_at desc, run.run_id desc
limit $4`,rd=`${td}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,bo=i((t,e)=>h(`runs.page-${t}`,`
select ${rd}
from ghouls.runs run${nd}
  ${e}${xo}`),"page"),Za=i((t,e)=>h(`runs.page-${t}`,`
select ${rd}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${nd}
  and run.status = wanted.status ${e}${xo}
) as run${xo}`),"pageOfStatuses"),Kt={all:bo("all",""),status:Za("status",""),workflow:bo("workflow","and run.workflow_name = $5"),both:Za("status-workflow","and run.workflow_name = $6"),attention:bo("attention","and (run.attention_at is not null or run.quarantined_at is not null)")},Qf=h("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function od(t,e){let[n]=await t.run(Vf,[e.tenantId,e.runId]);if(n===void 0)return null;let r=f(n);return{...ad(r),requestDigest:r.text("request_digest"),inputText:r.textOrNull("input_text"),inputDigest:r.text("input_digest"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text")}}i(od,"readRun");async function id(t,e,n,r){let[o,s]=r.cursor===void 0?Xf:eg(r.cursor),[a,d]=Yf(n),u=await t.run(a,[e,o,s,r.limit+1,...d]),l=u.slice(0,r.limit),c=l.at(-1);return{runs:l.map(m=>ad(f(m))),nextCursor:u.length>r.limit&&c!==void 0?Zf(c):null}}i(id,"readRunPage");function Yf(t){let{status:e,workflow:n,attention:r}=t;if(r===!0){if(e!==void 0||n!==void 0)throw new y("invalid_request","the attention filter does not combine with others yet",{fix:"Ask with attention alone, and choose among what comes back."});return[Kt.attention,[]]}return e!==void 0&&n!==void 0?[Kt.both,[e,n]]:e!==void 0?[Kt.status,[e]]:n!==void 0?[Kt.workflow,[n]]:[Kt.all,[]]}i(Yf,"choose");var Xf=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function Zf(t){return`${f(t).text("created_micros")}.${f(t).text("run_id")}`}i(Zf,"cursorOf");function eg(t){let e=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(t);if(e===null)throw new y("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[e[1],e[2]]}i(eg,"parseCursor");async function sd(t,e){return(await t.run(Qf,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}i(sd,"readDeliveries");function ad(t){return{tenantId:t.text("tenant_id"),runId:t.text("run_id"),parentRunId:t.textOrNull("parent_run_id"),idempotencyKey:t.textOrNull("idempotency_key"),workflow:{name:t.text("workflow_name"),version:t.number("workflow_version"),digest:t.text("workflow_digest")},queue:t.text("queue"),priority:t.number("priority"),agent:t.textOrNull("agent"),requestedBy:t.text("requested_by"),status:t.text("status"),enqueueSeq:t.number("enqueue_seq"),journalLength:t.number("journal_length"),errorCode:t.textOrNull("error_code"),attention:ed(t,"attention_reason","attention_at"),quarantine:ed(t,"quarantine_reason","quarantined_at"),pausedAt:t.dateOrNull("paused_at"),deadlineAt:t.dateOrNull("deadline_at"),createdAt:t.date("created_at"),startsAt:t.dateOrNull("starts_at"),startedAt:t.dateOrNull("started_at"),finishedAt:t.dateOrNull("finished_at")}}i(ad,"runOf");function ed(t,e,n){let r=t.textOrNull(e),o=t.dateOrNull(n);return r===null||o===null?null:{reason:r,at:o}}i(ed,"flag");var ng=P("run").filter(t=>t==="QUEUED"||t.startsWith("AWAITING_")&&t!=="AWAITING_HARDWARE"),rg=g("runs.repin",`
with r as materialized (
  select run.tenant_id, run.run_id, run.generation, run.enqueue_seq, run.workflow_absent_since
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${E(ng)})
    and run.quarantined_at is null and run.workflow_digest = $3 and run.workflow_digest <> $4
  for update
), checkpoint as (
  update ghouls.checkpoints c
  set workflow_digest = $4
  from r
  where c.tenant_id = r.tenant_id and c.run_id = r.run_id and c.generation = r.generation
  returning c.run_id
), due as (
  update ghouls.deliveries d
  set due_at = least(d.due_at, ghouls.clock()), next_publication_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq and d.status = 'PENDING'
    and r.workflow_absent_since is not null
  returning d.run_id
)
update ghouls.runs run
set workflow_digest = $4, workflow_absent_since = null
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from checkpoint) >= 0
  and (select count(*) from due) >= 0
returning run.run_id`),og=h("runs.pin",`
select run.workflow_digest, run.quarantined_at is not null as quarantined
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function dd(t,e,n,r){return t.transaction("runs.repin",async o=>{let s=(await N(o,[e])).get(e.runId);if(s===void 0)return null;let{from:a,to:d}=n;if((await o.run(rg,[e.tenantId,e.runId,a,d])).length===0){let[l]=await o.run(og,[e.tenantId,e.runId]),c=f(l??{});return{repinned:!1,status:s,digest:c.text("workflow_digest"),quarantined:c.boolean("quarantined")}}return await Te(o,e,{...r,act:"repin",subject:`workflow ${a} to ${d}`}),{repinned:!0,status:s,digest:d,quarantined:!1}})}i(dd,"repinRunIfUnclaimed");var sg=g("runs.restart",`
with ${G(W)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), arms_closed as (
  update ghouls.arms a
  set closed_at = settled.settled_at, closing = 'restart'
  from settled
  where a.tenant_id = settled.tenant_id and a.run_id = settled.run_id and a.closed_at is null
  returning a.run_id
), consents_closed as (
  update ghouls.consents c
  set status = 'CANCELLED', closed_at = settled.settled_at, closed_by = 'the restart of its run'
  from settled
  where c.tenant_id = settled.tenant_id and c.run_id = settled.run_id and c.status = 'PENDING'
  returning c.run_id
), attempts_dropped as (
  update ghouls.attempts t
  set status = case when t.status = 'DEFINED' then 'CANCELLED' else t.status end,
    closed_at = case when t.status = 'DEFINED' then settled.settled_at end,
    closed_by = case when t.status = 'DEFINED' then 'the restart of its run' end,
    next_look_at = case when t.status = 'DEFINED' then null else settled.settled_at end, looks = 0,
    cancel_asked_at = coalesce(t.cancel_asked_at, settled.settled_at), cancel_reason = coalesce(t.cancel_reason, 'restart')
  from settled
  where t.tenant_id = settled.tenant_id and t.run_id = settled.run_id and t.status not in (${E(re)})
  returning t.run_id
), child_items as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, settled.seq, child.run_id, 'run ' || child.run_id,
    settled.settled_at, settled.settled_at
  from settled
  join ghouls.runs child on child.tenant_id = settled.tenant_id and child.parent_run_id = settled.run_id
  where child.parent_close <> 'abandon' and child.status not in (${E(pe("run"))})
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0,
    epoch = run.epoch + 1, journal_start = run.journal_length, journal_bytes = 0, input_text = $7, input_digest = $8,
    starts_at = settled.settled_at, open_items = run.open_items + (select count(*) from child_items)::integer
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id and run.epoch = $9
    and (select count(*) from arms_closed) >= 0 and (select count(*) from consents_closed) >= 0
    and (select count(*) from attempts_dropped) >= 0
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, run.journal_start, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, moved.journal_start, $6, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $10::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`);async function ud(t,e,n,r){let[o]=await t.run(sg,[e.tenantId,e.runId,e.seq,e.token,n.workflowDigest,n.journalDigest,n.inputText,n.inputDigest,n.epoch,r.publisherGraceSeconds]);return o===void 0?Nn(t,e,"continued"):Me(o)}i(ud,"restartIfClaimed");var Bt=1e3,dg=h("signals.by-key",`
select s.signal_id, s.request_digest
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and (s.idempotency_key = $3 or s.signal_id = $4::uuid)`),ug=h("signals.buffered",`
select count(*)::integer as buffered, count(*) filter (where s.name = $3)::integer as of_name,
  (select count(*) from ghouls.arms a
    where a.tenant_id = $1 and a.run_id = $2 and a.owner = 'signal' and a.name = $3 and a.closed_at is null)::integer as awaited
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and s.consumed_at is null`),lg=g("signals.keep",`
insert into ghouls.signals (tenant_id, run_id, signal_id, name, idempotency_key, request_digest, payload_text, payload_digest,
  sent_by, received_at)
select run.tenant_id, run.run_id, $3, $4, $5, $6, $7, $8, $9, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2
on conflict (tenant_id, run_id, idempotency_key) do nothing
returning signal_id`);async function ld(t,e,n){return t.transaction("signals.keep",async r=>{let{tenantId:o,runId:s,signalId:a,idempotencyKey:d}=e,u=(await N(r,[e])).get(s);if(u===void 0)return null;let[l]=await r.run(dg,[o,s,d,a]);if(l!==void 0){let m=f(l);return m.text("request_digest")!==e.requestDigest?{kind:"conflict"}:{kind:"kept",signalId:m.text("signal_id"),repeated:!0,resumption:null}}if(fe(u)||K.includes(u))return{kind:"ended",status:u};if(await cg(r,e))return{kind:"full"};await r.run(lg,[o,s,a,e.name,d,e.requestDigest,e.payloadText,e.payloadDigest,e.sentBy]);let c=await ge(r,e,n.publisherGraceSeconds);return{kind:"kept",signalId:a,repeated:!1,resumption:c}})}i(ld,"keepSignal");async function cg(t,{tenantId:e,runId:n,name:r}){let[o]=await t.run(ug,[e,n,r]);if(o===void 0)return!1;let s=f(o);return s.number("buffered")>=Bt&&s.number("of_name")>=s.number("awaited")}i(cg,"isFull");var pg=g("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`),fg=h("workflows.build-of",`
select w.build
from ghouls.workflows w
where w.name = $1 and w.digest = $2
order by w.last_seen_at desc
limit 1`);async function cd(t,e,n){await t.run(pg,[e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.digest),n])}i(cd,"recordWorkflows");async function md(t,e){let[n]=await t.run(fg,[e.name,e.digest]);return n===void 0?null:f(n).text("build")}i(md,"readBuildOf");function b(t,e){return((...n)=>e(t,...n))}i(b,"bind");function se(t,e,n){return(async(...r)=>(await e(),n(t,...r)))}i(se,"opening");function _g(t,e,n,r){return Yr(e,n,r)}i(_g,"admitIn");function pd(t){let e=new bn(t),n=t.beforeOpening??(()=>Promise.resolve());return{schema:e.schema,runs:{admit:se(e,n,Yr),admitIn:se(e,n,_g),byKey:b(e,at),byId:b(e,gn),get:b(e,od),page:b(e,id),openOfPins:b(e,Ka),stranded:b(e,Ba),repinIfUnclaimed:b(e,dd),raiseAttention:b(e,En),quarantineIfClaimed:b(e,ws),adoptIfClaimed:b(e,Ls),clearAbsenceIfClaimed:b(e,Ps),cancel:se(e,n,co),clearQuarantine:se(e,n,Xa),overdue:b(e,ra),failOverdue:b(e,oa),restartIfClaimed:b(e,ud),resume:se(e,n,io),resumeDue:b(e,io)},deliveries:{releaseIfHeld:se(e,n,Ki),claimIfDue:se(e,n,Oa),unclaimed:b(e,Ra),settleIfClaimed:b(e,ys),duePublications:b(e,Ja),markPublished:b(e,Va),markPublicationFailed:b(e,Qa),settleContainIfClaimed:b(e,hs),beatIfClaimed:b(e,Vs),parkIfClaimed:b(e,Fa),yieldStandingIfClaimed:b(e,Ga),beatOfWorker:b(e,Js),yieldIfClaimed:b(e,Dn),giveBackIfClaimed:b(e,qs),lapsed:b(e,Ea),settleLost:b(e,Ia),expiredHolds:b(e,ia),expireHolds:b(e,sa),recordWorkerEnd:se(e,n,qa),ofRun:b(e,sd)},journal:{appendIfClaimed:b(e,La),read:b(e,Ta)},checkpoints:{read:b(e,Ts)},intents:{openIfClaimed:b(e,da),closeIfClaimed:b(e,ua),openOfRun:b(e,la),lastOfRun:b(e,ca)},items:{ofRun:b(e,ma),due:b(e,pa),contain:b(e,ho),containSooner:se(e,n,ho),acknowledge:se(e,n,lo),acknowledgeWorker:se(e,n,Ms)},arms:{openOfRun:b(e,Ut),retriesOfRun:b(e,Ys),runOf:b(e,bs),due:b(e,xs)},consents:{get:b(e,$n),page:b(e,ta),decisions:b(e,po),decide:se(e,n,ea),toLookUp:b(e,ba),postponeLookUp:b(e,xa)},attempts:{get:b(e,Ss),forCallback:b(e,As),page:b(e,Ds),due:b(e,Cs),definedOfRun:b(e,vs),claimSubmission:b(e,Bs),askToCancel:b(e,Ws),change:se(e,n,Us),keepContradiction:b(e,Ks)},children:{startIfClaimed:b(e,va),ends:b(e,Sa),tellParent:b(e,Aa),toCancel:b(e,Ca),cancel:b(e,co)},signals:{keep:se(e,n,ld)},evidence:{reject:b(e,Qs)},workflows:{record:b(e,cd),buildOf:b(e,md)},keys:{byId:b(e,Ln),markUsed:b(e,fa),page:b(e,_a),create:b(e,ga),revoke:b(e,ya)},nextLook:b(e,Ma),beforeOpening:n,doctor:i(()=>gs(e),"doctor"),schemaVersion:i(()=>to(e),"schemaVersion"),transaction:e.transaction.bind(e),close:i(()=>e.close(),"close")}}i(pd,"openLedger");var Eo="ghouls_app";function fd(t,e){return`
grant usage on schema ${t} to ${e};
grant select on ${t}.migrations to ${e};
grant select, insert, update on ${t}.workflows to ${e};
grant select, insert, update on ${t}.runs to ${e};
grant select, insert, update on ${t}.deliveries to ${e};
grant select, insert on ${t}.journal to ${e};
grant select, insert on ${t}.checkpoints to ${e};
grant select, insert, update on ${t}.containment_items to ${e};
grant select, insert, update on ${t}.intents to ${e};
grant select, insert, update on ${t}.waits to ${e};
grant select, insert, update on ${t}.arms to ${e};
grant select, insert, update on ${t}.consents to ${e};
grant select, insert on ${t}.consent_decisions to ${e};
grant select, insert, update on ${t}.signals to ${e};
grant select, insert, update on ${t}.attempts to ${e};
grant select, insert, update, delete on ${t}.child_ends to ${e};
grant select, insert on ${t}.evidence to ${e};
grant select, insert on ${t}.audit to ${e};
grant select, update (last_used_at) on ${t}.api_keys to ${e};
grant select on ${t}.doctor_open_deliveries to ${e};
grant select on ${t}.doctor_working_runs to ${e};
grant select on ${t}.doctor_attempts to ${e};
grant select on ${t}.doctor_children to ${e};
grant select on ${t}.doctor_contradicted_attempts to ${e};
grant select on ${t}.doctor_terminal_runs to ${e};
grant select on ${t}.doctor_pending_deliveries to ${e};
grant select on ${t}.doctor_journals to ${e};
grant select on ${t}.doctor_open_items to ${e};
grant select on ${t}.doctor_endings to ${e};
grant select on ${t}.doctor_waits to ${e};
grant select on ${t}.doctor_ended_waits to ${e};
grant select on ${t}.doctor_lost_claims to ${e};
grant select on ${t}.doctor_quarantined_runs to ${e};
grant select on ${t}.doctor_runs_with_attention to ${e};
`}i(fd,"grantsSql");function gd(t){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${t}') then create schema ${t}; end if;
end $$;
create table if not exists ${t}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}i(gd,"prologueSql");function _d(t,e){return`${Ve(t.sql,e)}
insert into ${e}.migrations (number, name) values (${t.number}, '${t.name}');
`}i(_d,"stepSql");function yd(t={}){let{schema:e,role:n}=wd(t);return["begin;",gd(e).trim(),...ut.map(r=>`-- ${r.number} ${r.name}
${_d(r,e).trim()}`),fd(e,n).trim(),"commit;",""].join(`

`)}i(yd,"migrationSql");async function hd(t){let{schema:e,role:n}=wd(t),r=new dt({...t,maxConnections:1,answerTimeoutMs:0,applicationName:"ghouls-migrate"}),o=r.patience();try{let s=await r.connect("the migration",o);try{return await yg(s,e,n)}finally{s.release(!0)}}catch(s){throw hg(s,n)}finally{o.end(),await r.close()}}i(hd,"migrate");async function yg(t,e,n){await t.query("begin"),await t.query({text:"select pg_advisory_xact_lock(hashtextextended($1, 0))",values:[`ghouls-migrate:${e}`]}),await t.query(gd(e));let o=await t.query(`select number from ${e}.migrations order by number`),s=Number(o.rows.at(-1)?.number??0),a=ut.at(-1)?.number??0;if(s>a)throw new y("configuration_invalid",`the schema is at migration ${s}, this code knows ${a}`,{fix:"Run the newer version of ghouls."});let d=ut.filter(l=>l.number>s);for(let l of d)await t.query(_d(l,e));await t.query(fd(e,n));let u=await t.query("commit");if(u.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${u.command}`);return{applied:d.map(({number:l,name:c})=>({number:l,name:c})),version:a}}i(yg,"applyMissing");function wd(t){let e=t.schema??it,n=t.applicationRole??Eo;return st(e,"the schema name"),st(n,"the application's role"),{schema:e,role:n}}i(wd,"named");function hg(t,e){let n=typeof t=="object"&&t!==null&&"code"in t?t.code:void 0;return n==="42501"?new y("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:t}):n==="42704"?new y("configuration_invalid",`the application's role "${e}" does not exist`,{fix:`Create it (create role ${e} login), or name yours with --app-role.`,cause:t}):t}i(hg,"readable");import Io from"pg";var wg={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function So(t,e){let{schema:n,migrator:r,application:o}=t;for(let[a,d]of[["the schema name",n],["the migrator's role",r.name],["the application's role",o.name]])st(d,a);let s=i(({name:a,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${a}') then create role ${a} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${a}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${a} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${a} login password ${Io.escapeLiteral(d)}`],"role");return[...s(r),...s(o),...Object.entries(wg).map(([a,d])=>`alter role ${o.name} set ${a} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${n} authorization ${r.name}`,`grant connect on database ${Io.escapeIdentifier(e)} to ${r.name}, ${o.name}`]}i(So,"rolesSql");async function kd(t,e){let n=new Io.Client({connectionString:t});n.on("error",()=>{}),await n.connect();try{let r=(await n.query("select current_database() as name")).rows[0]?.name??"";for(let o of So(e,r))await n.query(o)}finally{await n.end()}}i(kd,"createRoles");var yl={};en(yl,{DEFAULT_EXECUTION_SETTINGS:()=>vd,Publisher:()=>mt,Registry:()=>Xn,StillAskingError:()=>Qe,blameHop:()=>Ud,createAdmission:()=>Ad,createAnnouncement:()=>Ed,createAttempts:()=>Uu,createConsents:()=>Bu,createControl:()=>Qu,createDirectEgress:()=>Cd,createKeyAuthenticator:()=>Yu,createLowering:()=>ll,createReads:()=>Xu,createSignals:()=>_l,endsWithin:()=>Se,isConsentStatus:()=>Ju,reconcile:()=>_r,reconcileWhenDue:()=>fl,work:()=>ju});function xd(t,e){let n=[],r=!1,o=i(async()=>{for(r=!0;n.length>0;){let s=n.slice(0,t);n=n.slice(t);try{let a=await e(s.map(d=>d.item));s.forEach((d,u)=>d.resolve(a[u]))}catch(a){for(let d of s)d.reject(a)}}r=!1},"drain");return s=>new Promise((a,d)=>{n.push({item:s,resolve:a,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}i(xd,"grouped");async function Se(t,e){let n=Promise.withResolvers(),r=setTimeout(()=>n.resolve(!1),Math.min(Math.max(0,e),2147483647));try{return await Promise.race([t.then(()=>!0),n.promise])}finally{clearTimeout(r)}}i(Se,"endsWithin");async function Ae(t,e){if(await Se(t,e))return t;throw new Error(`no answer within ${e} ms`)}i(Ae,"answerWithin");var kg=100,mt=class{static{i(this,"Publisher")}#e;#n;constructor(e){this.#e=e,this.#n=xd(kg,n=>this.#t(n))}publish(e){return this.#n(e)}async#t(e){let{queue:n,log:r,faults:o}=this.#e;try{let{confirmed:s,failed:a}=await n.publish(e);for(let{publication:u,reason:l}of a)r.warn("a delivery could not be published; the relay will",{runId:u.runId,reason:l});await o("admission.after-publish",`${s.length} confirmed`),await this.#r(s,a);let d=new Set(s.map(({runId:u,enqueueSeq:l})=>`${u}:${l}`));return e.map(({runId:u,enqueueSeq:l})=>d.has(`${u}:${l}`)?"published":"failed")}catch(s){return r.warn("publications failed; the relay repeats them",{count:e.length,error:String(s).slice(0,200)}),e.map(()=>"failed")}}async#r(e,n){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(e),await r.deliveries.markPublicationFailed(n)}catch(s){o.warn("publications could not be marked",{count:e.length,error:s.name})}}},bg=2e3;async function je(t,e){let n=t.publish(e);return await Se(n,bg)?n:"failed"}i(je,"publishInTime");function Ed({ledger:t,registry:e,build:n}){let r;return()=>(r??=t.workflows.record(e.carried(),n).catch(o=>{throw r=void 0,o}),r)}i(Ed,"createAnnouncement");async function Ao(t){try{await t()}catch(e){throw!(e instanceof L)||e.kind!=="unknown"&&e.kind!=="busy"?e:new y("ledger_unavailable","nothing was admitted: this build could not say in the ledger which workflows it has",{fix:"Send the request again.",retryAfterSeconds:2,cause:e})}}i(Ao,"announceOrRefuse");async function Co(t,e,n){let r=t.filter(u=>!e.has(u.runId)),o=r.flatMap(u=>u.idempotencyKey===null?[]:[{tenantId:u.tenantId,idempotencyKey:u.idempotencyKey}]),s=r.filter(u=>u.idempotencyKey===null),a=new Map((o.length>0?await n.byKey(o):[]).map(u=>[u.idempotencyKey,u])),d=new Map((s.length>0?await n.byId(s):[]).map(u=>[u.runId,u]));return t.map(u=>{let l=e.get(u.runId);if(l!==void 0)return{run:xg(u,l),created:!0};let c=u.idempotencyKey===null?d.get(u.runId):a.get(u.idempotencyKey);if(c===void 0)throw new y("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return c.requestDigest!==u.requestDigest?{conflict:!0}:{run:c,created:c.runId===u.runId}})}i(Co,"settleKeys");function xg(t,{startsAt:e,startsInSeconds:n}){let{tenantId:r,runId:o,idempotencyKey:s,requestDigest:a,workflow:d,queue:u,priority:l,held:c}=t;return{tenantId:r,runId:o,idempotencyKey:s,requestDigest:a,workflow:d,queue:u,priority:l,held:c,status:"QUEUED",enqueueSeq:1,unpublished:!c,startsAt:e,dueInSeconds:n}}i(xg,"freshRun");function Ht({run:t,created:e}){let{runId:n,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u,startsAt:l}=t;return{runId:n,created:e,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u,startsAt:l?.toISOString()??null}}i(Ht,"admittedView");function Mn(t){return new y("idempotency_conflict",`the idempotency key "${t}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}i(Mn,"conflict");async function Id(t,e){let n=[],r=[],o;for(let[s,a]of t.entries())try{n.push(await e(a))}catch(d){if(!(d instanceof y))throw d;o??=d;let u=d.issues??[{path:"",message:d.message}];r.push(...u.map(l=>({path:`/runs/${s}${l.path}`,message:l.message})))}if(o===void 0)return n;throw new y(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}i(Id,"prepareAll");var Eg=5,Ig="1h";async function jn(t,e,n){let{request:r}=n,o=Buffer.byteLength(n.inputText);if(o>Je)throw new y("too_large",`the input is ${o} bytes of JSON, the limit is ${Je}`,{fix:"Keep the material elsewhere and send a reference."});if(r.holdFor!==void 0&&r.held!==!0)throw new y("invalid_request","holdFor is for a run that is held",{issues:[{path:"/holdFor",message:"needs held: true"}],fix:"Add held: true, or leave holdFor out."});let s=JSON.parse(n.inputText),a=r.workflow===void 0?Ag(t.route,{input:s,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=t.registry.choose(r.workflow??a.workflow,r.version);await Dg(d,s);let u=t.ids.next(),l=await t.codec.encode(n.inputText,{tenantId:e.tenantId,runId:u,kind:"input"});return{tenantId:e.tenantId,runId:u,idempotencyKey:n.idempotencyKey??null,requestDigest:await me(t.codec,n.canonicalRequest),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:Cg(t.queues,r.queue??a?.queue??d.definition.queue??Dt),priority:vg(r.priority??a?.priority??Eg),agent:r.agent??null,requestedBy:e.subject,requestedRoles:e.roles,inputText:l,inputDigest:v(l),deadlineMs:d.definition.deadlineMs??null,onWorkerLoss:d.definition.onWorkerLoss,held:r.held??!1,holdMs:B(r.holdFor??Ig),startAfter:Sg(r.startAfter)}}i(jn,"prepare");function Sg(t){return t===void 0?null:_e(t)?{ms:B(t)}:{at:new Date(t)}}i(Sg,"startAfterOf");async function me(t,e){return t.digest?.(e)??v(e)}i(me,"requestDigest");function Ag(t,e){let n;try{n=t?.(e)}catch{throw new y("invalid_request","the route of the configuration could not choose a workflow for this request",{fix:"Name a workflow in the request."})}if(n===void 0)throw new y("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return n}i(Ag,"routeOf");function Cg(t,e){if(!t.includes(e))throw new y("unknown_queue",`there is no queue "${e}"`,{fix:`Configured are: ${t.join(", ")}.`});return e}i(Cg,"queueOf");function vg(t){if(!Number.isInteger(t)||t<0||t>9)throw new y("invalid_request",`a priority of ${t} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return t}i(vg,"priorityOf");async function Dg(t,e){let n=await Ng(t,e);if(n.length!==0)throw new y("input_invalid",`the input does not fit workflow "${t.definition.name}"`,{issues:n,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}i(Dg,"checkInput");async function Ng(t,e){try{let n=await t.definition.input.safeParseAsync(e);return n.success?[]:n.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch{return[{path:"/input",message:"the workflow's schema failed on this input"}]}}i(Ng,"issuesOf");function Ad(t){let{ledger:e}=t,n=new mt(t),r={lockTimeoutMs:t.lockTimeoutMs??2e3,publisherGraceSeconds:t.publisherGraceSeconds??15},o=i(async({tenantId:d,runId:u,enqueueSeq:l,queue:c,unpublished:m,dueInSeconds:p})=>{if(!m||p>ue)return;let w={tenantId:d,runId:u,enqueueSeq:l,queue:c,...Sd(p)};await je(n,w)},"publishIfUnpublished"),s=i(async(d,{idempotencyKey:u,canonicalRequest:l})=>{if(u===void 0)return;let[c]=await e.runs.byKey([{tenantId:d.tenantId,idempotencyKey:u}]);if(!(c===void 0||c.requestDigest!==await me(t.codec,l)))return Ht({run:c,created:!1})},"admittedBefore"),a=i(async d=>{await Ao(t.announce);let u=await e.runs.admit(d,r);await t.faults("admission.after-commit",`${u.size} created`);let l=await Co(d,u,e.runs);return await Promise.all(l.flatMap(c=>"run"in c?[o(c.run)]:[])),l},"commit");return{admit:i(async(d,u)=>{let l;try{l=await jn(t,d,u)}catch(m){let p=await s(d,u);if(p===void 0)throw m;return p}let[c]=await a([l]);if(c===void 0||"conflict"in c)throw Mn(l.idempotencyKey);return Ht(c)},"admit"),admitBatch:i(async(d,u)=>{let l=await Id(u,m=>jn(t,d,m));return{runs:(await a(l)).map((m,p)=>"run"in m?{outcome:"admitted",run:Ht(m)}:{outcome:"conflict",idempotencyKey:l[p]?.idempotencyKey??"",detail:Mn(l[p]?.idempotencyKey??null).message})}},"admitBatch"),release:i(async(d,u)=>{let l={tenantId:d.tenantId,runId:u},c=F(u)&&await e.deliveries.releaseIfHeld(l,r.publisherGraceSeconds),[m]=F(u)?await e.runs.byId([l]):[];if(m===void 0)throw new y("not_found","there is no such run",{fix:"Check the run id."});await o(m);let p=m.status==="FAILING"||m.status==="FAILED"||m.status.startsWith("CANCEL");if(!c&&(p||m.held)){let w=p?`the run is ${m.status}`:"the hold has expired";throw new y("hold_ended",`${w}: there is nothing left to release`,{fix:"Admit a new run."})}return{runId:u,enqueueSeq:m.enqueueSeq,released:c}},"release"),admitIn:i(async(d,u,l)=>{let c=await jn(t,u,l);await Ao(t.announce);let m=yn(d,e.schema),p=await hn(m,async()=>{let w=await e.runs.admitIn(m,[c],r),[k]=await Co([c],w,{byKey:i(x=>at(m,x),"byKey"),byId:i(()=>Promise.resolve([]),"byId")});return k});if(p===void 0||"conflict"in p)throw Mn(c.idempotencyKey);return{admitted:Ht(p),tenantId:u.tenantId}},"admitIn"),publish:i(async({admitted:d,tenantId:u})=>{if(await e.beforeOpening(),d.held)return;let{runId:l,enqueueSeq:c,queue:m}=d,[p]=d.startsAt===null?[]:await e.runs.byId([{tenantId:u,runId:l}]),w=p?.dueInSeconds??0;w>ue||await n.publish({tenantId:u,runId:l,enqueueSeq:c,queue:m,...Sd(w)})},"publish")}}i(Ad,"createAdmission");function Sd(t){return t>0?{delaySeconds:Math.min(ue,Math.ceil(t))}:{}}i(Sd,"delayOf");var Og=250,Qe=class extends Error{static{i(this,"StillAskingError")}constructor(e){super(e),this.name="StillAskingError"}};function Cd({services:t,origins:e,stopMs:n=Og}){return{ask:i(async(r,o,s)=>{let a=Object.hasOwn(t,r)?t[r]:void 0;if(a===void 0)throw new Error(`the configuration has no service "${r.slice(0,100)}"`);let d=new AbortController,u={signal:d.signal,origins:e},l=Rg(a,o,u),c=l.then(()=>{},()=>{});try{return rn(await Ae(l,s))}catch(m){if(d.abort(new DOMException("the question has ended","AbortError")),!await Se(c,n))throw new Qe(S(m).message);let p=await l.then(rn,()=>{});if(p===void 0||p.state==="unknown")throw m;return p}finally{d.abort(new DOMException("the question has ended","AbortError"))}},"ask")}}i(Cd,"createDirectEgress");async function Rg(t,e,n){return e.kind==="submit"?t.submit(e.job,n):t[e.kind](e.job,n)}i(Rg,"put");var vd={replayPatienceMs:1e3,settleReserveMs:2e3,residentDelayMs:un,parkRestMs:25,overdueAfterMs:6e4,actsMarginSeconds:60,leaseMs:12e4,beatMs:3e4,maxLosses:3,maxContainDeliveries:3,deployOverlapMs:36e5,ownerDeadlineMs:1e4,publisherGraceSeconds:15,replayCheck:!1,leaseHeld:!1};function $(t,e,n){return{kind:"failed",failure:{code:t,name:"Refused",message:e,...n===void 0?{}:{step:n}}}}i($,"refusal");function Ye(t){return t.kind==="yielded"||t.kind==="given_back"}i(Ye,"handsOver");function Dd(t,e){return t.kind==="fenced"||t.kind==="unknown"||e.kind==="restarted"&&$g(t)?!0:Ye(e)&&!Ye(t)}i(Dd,"overrules");function $g(t){return t.kind==="given_back"||t.kind==="failed"&&t.failure.code==="effect_unknown"}i($g,"isOfAnEffect");async function Nd(t){try{return await t()}catch(e){return{kind:"unknown",error:e}}}i(Nd,"whatStops");function vo(t){let e=qg(t);if(e===void 0)return{kind:"failed",failure:{code:"workflow_failed",...S(t)}};let{name:n,message:r}=S(t);return{kind:"failed",failure:{code:"step_failed",name:n,message:r,...e}}}i(vo,"failureOf");function qg(t){try{if(!(t instanceof He))return;let e=t.failure.stack;return{step:String(t.step),...typeof e=="string"?{stack:e}:{}}}catch{return}}i(qg,"stepFailureIn");var Pg={openIntent:void 0,lastNumber:0,triesUsed:0};async function Od(t,e){let n=t.seq===1?new Map:await Lg(t,e);return{of:i(r=>n.get(R(r))??Pg,"of"),tried:i((r,o,s)=>{n.set(R(r),{openIntent:void 0,lastNumber:o,triesUsed:s})},"tried"),open:i(()=>[...n.values()].flatMap(({openIntent:r})=>r??[]),"open")}}i(Od,"loadEffects");async function Lg(t,e){let[n,r]=await Promise.all([e.ledger.intents.openOfRun(t),e.ledger.intents.lastOfRun(t)]),o=new Map(n.map(s=>[R(s),s]));return new Map(r.map(s=>{let a=R(s);return[a,{openIntent:o.get(a),lastNumber:s.number,triesUsed:s.tries}]}))}i(Lg,"readEffects");async function Rd(t,e){let n=t.checkpointGeneration===null?[]:await e.ledger.arms.retriesOfRun(t,t.epoch),r=new Map(n.map(o=>[R(o.call),o]));return{of:i(o=>{let s=r.get(R(o));return{triesBefore:s?.tries??0,dueAt:s?.dueAt??null}},"of")}}i(Rd,"loadRetries");function zn(t){return v(JSON.stringify(t.map(e=>[e.ordinal,R(e),e.outcome,e.digest])))}i(zn,"journalDigest");function pt(t,e){return{workflowDigest:t.workflow.digest,journalLength:t.journalStart+e.length,journalDigest:zn(e)}}i(pt,"checkpointOf");var V=class extends Error{static{i(this,"DisagreementError")}constructor(e){super(e),this.name="DisagreementError"}},oe=class extends Error{static{i(this,"CodecError")}constructor(e){super(e),this.name="CodecError"}};async function ie(t,e,n,r){if(e===null||v(t)!==e)throw new V(`${n} disagrees with its digest`);try{return await r(t)}catch(o){throw o instanceof V?o:new oe(`${n}: ${S(o).message.slice(0,200)}`)}}i(ie,"verified");async function Fn(t,e,n){let r=t.journalLength-t.journalStart;if(e.length!==r)throw new V(`the journal has ${e.length} entries, the run says ${r}`);let o={tenantId:t.tenantId,runId:t.runId,kind:"result"};return Promise.all(e.map(async(s,a)=>{let d=t.journalStart+a+1;if(s.ordinal!==d)throw new V(`journal entry ${d} is missing`);let{ordinal:u,epoch:l,scope:c,kind:m,name:p,nth:w,outcome:k,tries:x,completedAt:O,resultText:q}=s,T=q===null?zg(s):await ie(q,s.resultDigest,`journal entry ${u}`,ae=>m==="step"?n.decode(ae,o):Tg(m,ae,t,n));return{ordinal:u,epoch:l,scope:c,kind:m,name:p,nth:w,outcome:k,text:T,tries:x,completedAt:O,digest:s.resultDigest}}))}i(Fn,"loadJournal");async function Tg(t,e,{tenantId:n,runId:r},o){if(t==="child")return Mg(JSON.parse(e),n,o);let s=JSON.parse(e);if(s.report!==void 0)return jg(s,{tenantId:n,runId:r},o);let a={...s};return s.decisions!==void 0&&(a.decisions=await Promise.all(s.decisions.map(async d=>({...d,comment:d.comment===null?null:await o.decode(d.comment,{tenantId:n,runId:r,kind:"comment"})})))),s.payload!==void 0&&(a.payload=s.payload===null?null:JSON.parse(await o.decode(s.payload,{tenantId:n,runId:r,kind:"signal"}))),JSON.stringify(a)}i(Tg,"decodeWaitResult");async function Mg({outcome:t,runId:e,text:n=null,digest:r=null},o,s){if(n===null){if(r!==null)throw new V(`the end of child ${e} is gone`);return JSON.stringify({outcome:t,runId:e})}let a=t==="DONE"?"output":"error",d=await ie(n,r,`the ${a} of child ${e}`,u=>s.decode(u,{tenantId:o,runId:e,kind:a}));return JSON.stringify({outcome:t,runId:e,body:JSON.parse(d)})}i(Mg,"decodeChild");async function jg(t,{tenantId:e,runId:n},r){let{report:o,digest:s,...a}=t,d=await ie(o??"",s??null,"the report of a job",u=>r.decode(u,{tenantId:e,runId:n,kind:"report"}));return JSON.stringify({...a,[a.outcome==="FAILED"?"error":"result"]:JSON.parse(d)})}i(jg,"decodeReport");function zg(t){if(t.resultDigest!==null)throw new V(`the result of journal entry ${t.ordinal} is gone`);return null}i(zg,"emptied");function $d(t,e,n){let r=`checkpoint ${t.checkpointGeneration}`;if(e===null)throw new V(`${r} is missing`);if(e.workflowDigest!==t.workflow.digest)throw new V(`${r} is of another workflow digest`);if(e.journalDigest!==zn(n.slice(0,e.journalLength-t.journalStart)))throw new V(`${r} disagrees with the journal`)}i($d,"verifyCheckpoint");async function ft(t,e,n){let r=t.journalLength===t.journalStart?[]:await Fn(t,await n.ledger.journal.read(t,t.journalStart),n.codec);t.checkpointGeneration!==null&&$d(t,await n.ledger.checkpoints.read(t,t.checkpointGeneration),r);let{tenantId:o,runId:s}=t,a=await ie(t.inputText,t.inputDigest,"the input",m=>n.codec.decode(m,{tenantId:o,runId:s,kind:"input"})),d=await qd(e,a);if("problem"in d)return $("input_invalid",`the input does not fit the workflow's schema: ${d.problem}`);let[u,l,c]=await Promise.all([Od(t,n),Rd(t,n),t.seq===1?[]:n.ledger.arms.openOfRun(t)]);return{input:d.value,journal:r,effects:u,retries:l,arms:c}}i(ft,"loadMaterial");function gt(t){return"journal"in t}i(gt,"isMaterial");async function Gn(t,e){let n=await qd(t,e);return"problem"in n?n.problem:void 0}i(Gn,"inputProblem");async function qd(t,e){try{let n=await t.input.safeParseAsync(JSON.parse(e));return n.success?{value:n.data}:{problem:n.error.message.slice(0,1500)}}catch(n){return{problem:S(n).message}}}i(qd,"inputOf");var Fg=100,Gg=2e3;async function Ce(t,e){for(let n=Fg;;n=Math.min(Gg,n*2))try{return await t()}catch(r){if(!(r instanceof L)||r.kind==="defect"||r.kind==="schema"||!e.mayGoOn()||(e.onPause(r),await new Promise(o=>setTimeout(o,n*(.5+e.chance()/2))),!e.mayGoOn()))throw r}}i(Ce,"persist");function Do(t){let{title:e,deciders:n,quorum:r,expiresMs:o,onExpiry:s,requesterMayDecide:a,detail:d}=t;return{title:e,deciders:n,quorum:r,expiresMs:o,onExpiry:s,requesterMayDecide:a,detail:d===void 0?null:JSON.parse(d)}}i(Do,"contentOf");function Pd({service:t,definition:e,requestText:n}){let{adapter:r,version:o}=e;return X({service:t,adapter:r,version:o,request:JSON.parse(n)})}i(Pd,"contentOfJob");async function Jt(t,e,n,r){return n?.consent!==void 0?Kg(t,e,n.consent,r):n?.child!==void 0?Ug(t,e,n.child,r):n?.job===void 0?void 0:Wg(t,e,n.job,r)}i(Jt,"digestOfFrozen");function No({workflow:t,inputText:e}){let{name:n,version:r}=t.definition;return X({workflow:n,version:r,input:JSON.parse(e)})}i(No,"contentOfChild");async function Ug({tenantId:t},e,n,{ledger:r,codec:o}){let s=await r.runs.get({tenantId:t,runId:e});if(s===null)return;let a=await me(o,No(n));if(s.requestDigest===a)return a;if(s.inputText===null)return;let d=await ie(s.inputText,s.inputDigest,"a child's input",m=>o.decode(m,{tenantId:t,runId:e,kind:"input"})),{name:u,version:l}=n.workflow.definition;return s.workflow.name===u&&s.workflow.version===l&&d===n.inputText?s.requestDigest:void 0}i(Ug,"digestOfSameChild");async function Wg(t,e,n,{ledger:r,codec:o}){let{tenantId:s,runId:a}=t,d=await r.attempts.get({tenantId:s,attemptId:e});if(d===null)return;let u=await ie(d.requestText,d.storedDigest,"a job's request",p=>o.decode(p,{tenantId:s,runId:a,kind:"job"})),{adapter:l,version:c}=n.definition;return u===n.requestText&&d.service===n.service&&d.adapter===l&&d.adapterVersion===c?d.requestDigest:void 0}i(Wg,"digestOfSameJob");async function Kg(t,e,n,{ledger:r,codec:o}){let{tenantId:s,runId:a}=t,d=await r.consents.get({tenantId:s,consentId:e});if(d===null)return;let u=await ie(d.requestText,d.storedDigest,"a consent's request",w=>o.decode(w,{tenantId:s,runId:a,kind:"consent"})),l=Do(n),c=JSON.parse(u),m=Object.keys(l),p=Object.fromEntries(m.map(w=>[w,c[w]]));return X(p)===X(l)?d.requestDigest:void 0}i(Kg,"digestOfSameRequest");function Oo({arms:t,effects:e}){return[...t.flatMap(({call:r})=>r.kind==="step"?[]:[r]),...e.open()]}i(Oo,"callsOf");async function Ld(t,e,n,r){let o=new Map(n.map(d=>[d.key,d])),s=Oo(e).find(d=>!o.has(R(d)));if(s!==void 0)return`${de(s)} stands open, and the code does not ask for it`;let a=e.effects.open().find(d=>o.get(R(d))?.step?.once!==!0);if(a!==void 0)return`nobody knows whether the effect of ${de(a)} has happened, and the code calls it as a plain step`;for(let{call:d,consentId:u,attemptId:l,childRunId:c}of e.arms){let m=u??l??c;if(m!==null&&await Jt(t,m,o.get(R(d))?.wait,r)===void 0)return`${de(d)} was frozen with another request than the code asks for`}}i(Ld,"takeoverProblem");async function Td(t,e,n,r,o,s){try{let a=r.find(d=>R(d.call)===e.key);return a!==void 0?await Bg(t,e,a,o):await Hg(t,e,n,o,s)}catch(a){return{kind:"unknown",error:a}}}i(Td,"startChild");async function Bg(t,e,{childRunId:n},r){if(await Jt(t,n??"",e.wait,r)!==void 0)return;let{name:o}=e.id;return $("journal_mismatch",`child "${o}" was started with another request than the code asks for now: the code has changed or is not deterministic`,o)}i(Bg,"problemOfStarted");async function Hg(t,e,n,r,o){let{definition:s,digest:a}=n.workflow,{name:d}=e.id,u=await Gn(s,n.inputText);if(u!==void 0)return $("invalid_call",`child "${d}": its input does not fit workflow "${s.name}": ${u}`,d);let[l,c]=[r.ids.next(),r.ids.next()],{tenantId:m}=t,p=await r.codec.encode(n.inputText,{tenantId:m,runId:c,kind:"input"}),w=n.queue??s.queue??Dt,k={armId:l,call:e.id,runId:c,requestDigest:await me(r.codec,No(n)),workflow:{name:s.name,version:s.version,digest:a},queue:w,priority:n.priority,inputText:p,inputDigest:v(p),deadlineMs:s.deadlineMs??null,onWorkerLoss:s.onWorkerLoss,parentClose:n.parentClose},{publisherGraceSeconds:x}=r.settings;await r.faults("worker.before-child",d);let O=await Ce(()=>r.ledger.children.startIfClaimed(t,k,{publisherGraceSeconds:x}),o);if(await r.faults("worker.after-child",d),!O)return{kind:"fenced"};await r.publisher.publish({tenantId:m,runId:c,enqueueSeq:1,queue:w})}i(Hg,"start");async function Md(t,e,n){let{tenantId:r,runId:o,parentRunId:s}=t;if(s!==null)try{await e.faults("worker.before-tell-parent",o);let{resumption:a}=await e.ledger.children.tellParent({tenantId:r,runId:o,parentRunId:s},e.settings.publisherGraceSeconds);await e.faults("worker.after-tell-parent",o),a!==null&&await e.publisher.publish(a)}catch(a){n.warn("the parent of a run could not be told of its end; the reconciler does it",{parentRunId:s,error:S(a).message.slice(0,200)})}}i(Md,"tellParent");function _t(t){return typeof t=="string"&&t!==""&&t.length<=200&&!t.includes("\0")&&t.isWellFormed()}i(_t,"isCallName");var Jg=new Set(["deciders","quorum","expires","onExpiry","detail","requesterMayDecide","source"]),Vg=new Set(["schema","timeout"]),Qg=/^(?:role|user):[\x21-\x7e]{1,200}$/,Un=100;function jd(t,e,n,r){return Xe("consent",t,e,Jg,o=>{let{deciders:s,quorum:a=1,onExpiry:d="expire",requesterMayDecide:u=!1}=e??{},l=e?.source??null;if(!Array.isArray(s)||s.length===0||s.length>Un)return`name 1 to ${Un} deciders, such as deciders: ["role:legal"]`;let c=s.find(k=>typeof k!="string"||!Qg.test(k));if(c!==void 0)return`"${String(c).slice(0,100)}" is no decider: write "role:<name>", or "user:<subject of a key>"`;if(!Number.isInteger(a)||a<1||a>Un)return`quorum is a whole number from 1 to ${Un}`;let m=new Set(s);if(a>m.size&&!s.some(Pt))return`a quorum of ${a} cannot be reached by ${m.size} deciders`;if(!Re.includes(d))return`onExpiry is one of ${Re.join(", ")}`;if(l!==null&&!n.includes(l))return`source "${String(l).slice(0,100)}" is not among the decision sources of the configuration`;if(l===null&&u!==!0&&new Set(s.filter(x=>!pn(x,r))).size<a&&!s.some(Pt))return`it cannot be granted: ${r} has asked for the run, and so may not decide. Name other deciders, or set requesterMayDecide: true`;let p=Yg(e?.detail),w={title:o,deciders:[...m].toSorted((k,x)=>k<x?-1:1),quorum:a,expiresMs:e?.expires===void 0?null:B(e.expires),onExpiry:d,requesterMayDecide:u===!0,detail:p,source:l};return{name:o,wait:{owner:"consent",dueAt:null,tries:null,consent:w}}})}i(jd,"understandConsent");function Yg(t){try{return H(t)}catch(e){throw e instanceof z?new y("configuration_invalid",`its detail cannot be kept: ${e.message}`,{fix:`Give JSON of at most ${Je} bytes.`}):e}}i(Yg,"detailOf");var Xg=new Date("9999-12-31T23:59:59.999Z");function zd(t,e,n){if(typeof t!="string"&&!(t instanceof Date))return`sleep: ${typeof t} is no time: give a duration such as "3d", or a Date`;let r=t instanceof Date?Zg(t):t;return Xe("sleep",e?.name??r,e,new Set(["name"]),o=>{let s=t instanceof Date?new Date(t):new Date(n.getTime()+B(String(t)));if(Number.isNaN(s.getTime()))return"it is until no moment: the Date is invalid";if(s>Xg)return"it is until a moment that the ledger cannot keep: give one before the year 10000";let a=s<n?n:s;return{name:o,wait:{owner:"timer",dueAt:a,tries:null,receive:i(()=>{},"receive")}}})}i(zd,"understandSleep");function Zg(t){return Number.isNaN(t.getTime())?"invalid date":t.toISOString()}i(Zg,"momentOf");function Fd(t,e,n){return Xe("signal",t,e,Vg,r=>{if(!$e.SIGNAL_NAME.test(r))return`nobody could send it: the name of a signal is ${$e.SIGNAL_NAME_RULE}`;let{schema:o,timeout:s}=e??{};if(o!==void 0&&typeof o.safeParse!="function")return"its schema is none of zod's";let a=s===void 0?null:new Date(n.getTime()+B(s));return{name:r,wait:{owner:"signal",dueAt:a,tries:null,receive:i(d=>e_(d,o),"receive")}}})}i(Fd,"understandSignal");function e_(t,e){let{outcome:n,payload:r}=t;if(n!=="RECEIVED"||e===void 0)return t;try{let o=e.safeParse(r);return o.success?{...t,payload:o.data}:{...t,outcome:"INVALID",problem:o.error.message.slice(0,1500)}}catch(o){let s=`the schema threw: ${String(o).slice(0,500)}`;return{...t,outcome:"INVALID",problem:s}}}i(e_,"received");function Xe(t,e,n,r,o){if(!_t(e))return`the name of a ${t} is a text of 1 to ${200} characters`;let s=`${t} "${e}"`;if(n!==void 0&&(typeof n!="object"||n===null))return`${s}: its options are an object`;let a=Object.keys(n??{}).find(d=>!r.has(d));if(a!==void 0)return`${s}: option "${a}" is not known in this version (known: ${[...r].join(", ")})`;try{let d=o(e);return typeof d=="string"?`${s}: ${d}`:d}catch(d){if(!(d instanceof y))throw d;return`${s}: ${d.message}${d.fix===void 0?"":`. ${d.fix}`}`}}i(Xe,"understood");var t_=new Set(["name","parentClose","queue","priority"]);function Gd(t,e,n,r,o){let s=n?.name??n_(t);return s===void 0?"ctx.child: its first argument is a workflow: pass what workflow({ \u2026 }) has made":Xe("child",s,n,t_,a=>{let d=r.all().find(({definition:w})=>w===t);if(d===void 0)return"its workflow is not in the configuration: name it in workflows, and pass that very object";let{parentClose:u="cancel",queue:l,priority:c}=n??{};if(!mn.includes(u))return`parentClose is one of ${mn.join(", ")}`;if(l!==void 0&&!o.includes(l))return`there is no queue "${String(l).slice(0,100)}"; configured are ${o.join(", ")}`;if(c!==void 0&&!(Number.isInteger(c)&&c>=0&&c<=9))return"priority is a whole number from 0 to 9";let m=r_(e);if("problem"in m)return`its input ${m.problem}`;let p={workflow:d,inputText:m.text,parentClose:u,queue:l??null,priority:c??null};return{name:a,wait:{owner:"child",dueAt:null,tries:null,child:p,receive:o_}}})}i(Gd,"understandChild");function n_(t){let e=t?.name;return typeof e=="string"?e:void 0}i(n_,"nameOf");function r_(t){try{return{text:X(JSON.parse(H(t)??"null"))}}catch(e){return e instanceof z?{problem:e.message}:{problem:`cannot be read: ${S(e).message.slice(0,300)}`}}}i(r_,"inputOf");function o_(t){let{outcome:e,runId:n,body:r}=t;return e==="DONE"?{outcome:e,runId:n,result:r}:e==="FAILED"?{outcome:e,runId:n,error:r}:{outcome:e,runId:n}}i(o_,"receive");import{AsyncLocalStorage as i_}from"node:async_hooks";var Ro=new i_;function yt(t,e){return Ro.run(t,e)}i(yt,"standIn");function ht(){return Ro.getStore()}i(ht,"whereAmI");function Ud(t){let e=Ro.getStore();return e===void 0?!1:(e.hop.fail(t),!0)}i(Ud,"blameHop");var s_=new Set(["deadline","heartbeat"]);function Wd(t,e,n,r,o){return Xe("delegate",t,r,s_,s=>{let a=Object.entries(o).find(([,p])=>p===e);if(a===void 0)return"its service is not in the configuration: name it in services, and pass that very object";let[d,u]=a,l=a_(u,n);if("problem"in l)return`its request ${l.problem}`;let c=r?.heartbeat,m={service:d,definition:u,requestText:l.canonical,deadlineMs:r?.deadline===void 0?null:B(r.deadline),heartbeatMs:c===void 0?u.times.heartbeatMs:B(c)};return m.deadlineMs===0||m.heartbeatMs===0?"its deadline and its heartbeat are not 0":{name:s,wait:{owner:"delegate",dueAt:null,tries:null,job:m,receive:i(p=>d_(p,u),"receive")}}})}i(Wd,"understandJob");function a_({request:t},e){try{H(e);let n=t.safeParse(e);if(!n.success)return{problem:`does not fit the service's schema: ${n.error.message.slice(0,1500)}`};let r=H(n.data)??"null";return{canonical:X(JSON.parse(r))}}catch(n){return n instanceof z?{problem:`cannot be sent: ${n.message}`}:{problem:`made its schema throw: ${S(n).message.slice(0,500)}`}}}i(a_,"requestOf");function d_(t,{result:e}){let{outcome:n,attemptId:r,result:o}=t;if(n!=="SUCCEEDED")return t;let s=i(a=>({outcome:"INVALID",attemptId:r,result:o,problem:a}),"invalid");try{let a=e.safeParse(o);return a.success?{outcome:n,attemptId:r,result:a.data}:s(a.error.message.slice(0,1500))}catch(a){return s(`the schema threw: ${S(a).message.slice(0,500)}`)}}i(d_,"received");var u_=10,Kd=1e3,Bd=1e4,Hd=new Set(["concurrency"]);function Jd(t,e,n,r){if(!_t(t))return`the name of a map is a text of 1 to ${200} characters`;let o=`map "${t}"`;if(!Array.isArray(e))return`${o}: its items are an array`;if(e.length>Bd)return`${o}: it has ${e.length} items, ${Bd} is the most. Let children or ctx.restart carry a part each`;if(typeof n!="function")return`${o} has no function`;if(r!==void 0&&(typeof r!="object"||r===null))return`${o}: its options are an object`;let s=Object.keys(r??{}).find(d=>!Hd.has(d));if(s!==void 0)return`${o}: option "${s}" is not known in this version (known: ${[...Hd].join(", ")})`;let a=r?.concurrency??u_;return!Number.isInteger(a)||a<1||a>Kd?`${o}: concurrency is a whole number from 1 to ${Kd}`:{name:t,items:[...e],concurrency:a}}i(Jd,"understandMap");function Vd({items:t,concurrency:e},n){return new Promise((r,o)=>{let s=Array.from({length:t.length}),[a,d,u]=[0,0,!1];t.length===0&&r(s);let l=i(()=>{if(u||a>=t.length)return;let c=a;a+=1,n(t[c],c).then(m=>{s[c]=m,d+=1,d===t.length?r(s):l()},m=>{u=!0,o(m)})},"begin");for(let c=0;c<e;c+=1)l()})}i(Vd,"eachItem");function Qd(t,e){return Object.defineProperty(t,"constructor",{get:i(()=>{let n=l_();return n!==void 0&&e(n),Promise},"get")})}i(Qd,"guardAgainstRace");function l_(){let{stackTraceLimit:t}=Error;Error.stackTraceLimit=6;let{stack:e}=new Error;return Error.stackTraceLimit=t,typeof e=="string"?/at (Promise\.(?:race|any)) \(<anonymous>\)/.exec(e)?.[1]:void 0}i(l_,"racingNow");import{setTimeout as c_}from"node:timers/promises";function Ze(){return new Promise(t=>setImmediate(t))}i(Ze,"comeToRest");function Yd(){return c_(5)}i(Yd,"briefly");function Xd(){return process.getActiveResourcesInfo().some(t=>t.startsWith("FSReq"))}i(Xd,"readsFiles");function he(){let{promise:t,resolve:e,reject:n}=Promise.withResolvers();return t.catch(()=>{}),{promise:t,resolve:e,reject:n}}i(he,"deferred");var m_=/[%/[\]#]/g;function Zd(t,e){return`${t}[${e}]`}i(Zd,"itemScope");var Wn=class{static{i(this,"Scopes")}#e=new Map;#n=new Set;enter(e,n,r){let o=JSON.stringify([e,n,r]);if(this.#n.has(o))return;this.#n.add(o);let s=(this.#e.get(o)??0)+1;this.#e.set(o,s);let a=`${r.replace(m_,encodeURIComponent)}${s===1?"":`#${s}`}`;return{path:e===""?a:`${e}/${a}`,leave:i(()=>{this.#n.delete(o)},"leave")}}};var p_=6e4,eu=100,tu=new Set(["tries","backoff","timeout","effect","probe"]);function nu(t,e,n,r){if(!_t(t))return`a step's name is a text of 1 to ${200} characters`;if(typeof e!="function")return`step "${t}" has no function`;let o=Object.keys(n??{}).find(s=>!tu.has(s));if(o!==void 0)return`step "${t}": option "${o}" is not known in this version (known: ${[...tu].join(", ")})`;try{return f_(t,n??{},r)}catch(s){if(!(s instanceof y))throw s;return`step "${t}": ${s.message}${s.fix===void 0?"":`. ${s.fix}`}`}}i(nu,"resolveStep");function f_(t,e,n){let r=e.tries??1;if(!Number.isInteger(r)||r<1||r>eu)return`step "${t}": tries is a whole number from 1 to ${eu}`;let o=e.timeout===void 0?Math.min(p_,n/2):B(e.timeout);return o<=0||o>n?`step "${t}": a timeout of ${e.timeout} does not fit the function's limit of ${Math.floor(n/1e3)} s`:e.effect!==void 0&&e.effect!=="once"?`step "${t}": effect can only be "once"`:e.probe!==void 0&&(e.effect!=="once"||typeof e.probe!="function")?`step "${t}": a probe is a function, and belongs to a step with effect: "once"`:{tries:r,timeoutMs:o,once:e.effect==="once",probe:e.probe,backoff:Mr(e.backoff)}}i(f_,"resolved");var Kn=class{static{i(this,"Asking")}#e;#n=new Wn;constructor(e){this.#e=e}step(e,n,r){return this.#r("step",e,()=>{let o=nu(e,n,r,this.#e.stepLimitMs);return typeof o=="string"?o:{name:e,step:o,run:n}})}consent(e,n,r){return this.#t("consent",()=>jd(e,n,this.#e.sources,r))}delegate(e,n,r,o){return this.#t("delegate",()=>Wd(e,n,r,o,this.#e.services))}child(e,n,r){let{registry:o,queues:s}=this.#e;return this.#t("child",()=>Gd(e,n,r,o,s))}sleep(e,n){return this.#t("sleep",()=>zd(e,n,this.#e.now()))}signal(e,n){return this.#t("signal",()=>Fd(e,n,this.#e.now()))}map(e,n,r,o){let s=this.#o("map","");if(s!==void 0)return s;if(this.#e.hasEnded())return this.#e.askedLate(),he().promise;let a=Jd(e,n,r,o);if(typeof a=="string")return this.#i($("invalid_call",a));let d=this.#n.enter(ru(),"map",a.name);if(d===void 0)return this.#i($("duplicate_call",ou("map",a.name)));let u=Vd(a,(l,c)=>{let m={hop:this.#e.hop,scope:Zd(d.path,c),step:void 0};return yt(m,async()=>r(l,c))}).finally(d.leave);return u.catch(()=>{}),u}refuseAll(e){this.#e.refuse(e)}restart(e){let n=this.#o("restart","");return n!==void 0?n:(this.#e.decide({kind:"restarted",input:e}),he().promise)}#t(e,n){let r=this.#r(e,e,n);return Qd(r,o=>{let s=`${o} over a durable wait: a replay has to find the same winner. Write ctx.first({ name: wait, \u2026 })`;this.#i($("invalid_call",s))})}#r(e,n,r){let o=this.#o(e,String(n));if(o!==void 0)return o;if(this.#e.hasEnded())return this.#e.askedLate(),he().promise;let s=r();if(typeof s=="string")return this.#i($("invalid_call",s));let a=this.#e.calls.next(this.#e.epoch,ru(),e,s.name);if(a===void 0)return this.#i($("duplicate_call",ou("call",s.name)));let d=this.#e.calls.open(a,"step"in s?{step:s.step,wait:void 0,start:i(()=>this.#e.start(d,s.run),"start")}:{step:void 0,wait:s.wait,start:i(()=>this.#s(d,s.wait),"start")});return this.#e.opened(d),d.result.promise}#s(e,{child:n}){n!==void 0&&this.#e.startChild(e,n)}#o(e,n){let r=ht()?.step;if(r===void 0)return;let s=`${e==="step"?`ctx.step("${n.slice(0,200)}")`:`ctx.${g_[e]}`} was called inside step "${r}": call it in the workflow itself`;return this.#e.refuse($("invalid_call",s,r)),Promise.reject(new Error(s))}#i(e){return this.#e.refuse(e),he().promise}};function ru(){return ht()?.scope??""}i(ru,"scopeHere");function ou(t,e){return`a ${t} "${e}" is open already: give ${t}s that run at the same time names of their own, or call them in the items of a ctx.map`}i(ou,"alreadyOpen");var g_={child:"child",consent:"consent",delegate:"delegate",sleep:"sleep",signal:"waitForSignal",restart:"restart",map:"map"};var Bn=class{static{i(this,"Calls")}#e=new Map;#n=new Map;#t=new Map;#r=new Set;asked(){return this.#r.size}wasAsked(e){return this.#r.has(R(e))}next(e,n,r,o){let s=$o({epoch:e,scope:n,name:o});if(this.#n.has(s))return;let a=R({epoch:e,scope:n,kind:r,name:o,nth:0}),d=(this.#e.get(a)??0)+1;return this.#e.set(a,d),{epoch:e,scope:n,kind:r,name:o,nth:d}}open(e,n){let r={id:e,key:R(e),result:he(),...n};return this.#t.set(r.key,r),this.#r.add(r.key),this.#n.set($o(e),r.key),r}find(e){return this.#t.get(R(e))}close(e){this.#t.delete(e.key),this.#n.delete($o(e.id))}openCalls(){return[...this.#t.values()]}};function $o(t){return JSON.stringify([t.epoch,t.scope,t.name])}i($o,"placeOf");async function iu(t){let{options:e}=t;for(let n=t.triesBefore+1;;n+=1){let r=await Hn(t,n);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:n};if(__(r.thrown)||n>=e.tries)return{outcome:"error",failure:r.failure,tries:n};if(t.hopSignal.aborted)return{outcome:"abandoned",tries:n};t.log.warn("a try of a step failed",{step:t.name,try:n,error:r.failure.name});let s=Rt(e.backoff,n+1,t.chance());if(s>t.residentDelayMs)return{outcome:"later",tries:n,delayMs:s};if(await qo(s,t.hopSignal),t.hopSignal.aborted)return{outcome:"abandoned",tries:n};if(t.whyNotNow()!==void 0)return{outcome:"later",tries:n,delayMs:0}}}i(iu,"runStep");async function Hn(t,e){let{timeoutMs:n}=t.options,r=new AbortController,o=i(()=>r.abort(t.hopSignal.reason),"stop");t.hopSignal.addEventListener("abort",o,{once:!0}),t.hopSignal.aborted&&o();let s=!1,a=setTimeout(()=>{s=!0,r.abort(new DOMException(`step "${t.name}" did not end within ${n} ms`,"TimeoutError"))},n),d=setTimeout(t.onOverdue,n+t.overdueAfterMs);try{let{idempotencyKey:u,log:l}=t;return{outcome:"ok",value:await t.run({idempotencyKey:u,tryNumber:e,signal:r.signal,log:l})}}catch(u){let l=S(u);return{outcome:"error",thrown:u,failure:s?{name:"TimeoutError",message:`it did not end within ${n} ms (then: ${l.message.slice(0,500)})`}:l}}finally{clearTimeout(a),clearTimeout(d),t.hopSignal.removeEventListener("abort",o)}}i(Hn,"callOnce");function __(t){return t instanceof Oe?!0:t instanceof Error&&t.name==="NonRetryableError"}i(__,"isNonRetryable");function qo(t,e){return new Promise(n=>{if(e.aborted)return n();let r=i(()=>{clearTimeout(o),e.removeEventListener("abort",r),n()},"end"),o=setTimeout(r,t);e.addEventListener("abort",r,{once:!0})})}i(qo,"pause");var we=i(t=>({outcome:"stops",end:t}),"stops"),y_=1e3,h_=3e5;async function au(t,e){let n=t.lastNumber,r=t.triesUsed;if(t.openIntent!==void 0){let o=await k_(t,t.openIntent,e);if(o!=="cannot_happen")return o}if(r>=t.options.tries)return su(t,r,{name:"Error",message:"it did not happen"});for(;;){let o=t.whyNotNow();if(o!==void 0)return we(o);if(n+=1,r+=1,await e.faults("worker.before-intent",t.call.name),!await e.ledger.intents.openIfClaimed(t.claim,t.call,n))return we({kind:"fenced"});await e.faults("worker.after-intent",t.call.name);let s=await Hn(du(t,t.call.name,t.run),r);if(s.outcome==="ok")return{outcome:"ok",value:s.value,tries:r,closesIntent:!0};if(!(s.thrown instanceof nt))return w_(t,r,s.failure);if(!await e.ledger.intents.closeIfClaimed(t.claim,t.call,n,"not_done"))return we({kind:"fenced"});if(t.tried(n,r),r>=t.options.tries||t.hopSignal.aborted)return su(t,r,s.failure);let a=Rt(t.options.backoff,r+1,e.chance());if(a>e.settings.residentDelayMs)return{outcome:"later",tries:r,delayMs:a};await qo(a,t.hopSignal)}}i(au,"onceStep");function du(t,e,n){let{options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d}=t,u=St(t.claim.firstRunId,t.call);return{name:e,run:n,options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d,idempotencyKey:u}}i(du,"callOf");function su(t,e,n){return t.log.warn("an effect has certainly not happened",{step:t.call.name,tries:e}),{outcome:"error",failure:n,tries:e}}i(su,"failedForGood");function w_(t,e,n){return t.probe===void 0?we(Jn(t,n.message)):(t.log.warn("the outcome of an effect is unknown; its probe is asked next",{step:t.call.name,try:e}),we({kind:"given_back",dueAt:new Date(t.ledgerNowMs()+y_),why:`the outcome of "${t.call.name}" is unknown`}))}i(w_,"unknownOutcome");function Jn(t,e){let{name:n}=t.call;return $("effect_unknown",`effect "${n}" may or may not have happened: ${e.slice(0,500)}`,n)}i(Jn,"effectUnknown");async function k_(t,e,n){if(!e.over){let s=e.overAt??new Date(t.ledgerNowMs()+h_);return we({kind:"given_back",dueAt:s,why:`an earlier worker may still carry out "${t.call.name}"`})}if(t.probe===void 0)return we(Jn(t,"its worker was lost, and it has no probe"));let r=await Po(t.probe,t);return typeof r=="string"?we(Jn(t,r)):r.outcome==="happened"?{outcome:"ok",value:r.result,tries:e.number,closesIntent:!0}:r.outcome==="unknown"?we(Jn(t,"its probe does not know")):await n.ledger.intents.closeIfClaimed(t.claim,t.call,e.number,"cannot_happen")?"cannot_happen":we({kind:"fenced"})}i(k_,"askAbout");async function Po(t,e){let n=await Hn(du(e,`probe of ${e.call.name}`,t),1);return n.outcome==="error"?`its probe failed: ${n.failure.message.slice(0,300)}`:b_(n.value)?n.value:"its probe answered nothing that a probe answers"}i(Po,"probe");function b_(t){return typeof t!="object"||t===null||!("outcome"in t)?!1:t.outcome==="happened"||t.outcome==="cannot_happen"||t.outcome==="unknown"}i(b_,"isAnswer");function ve(t,e,n){return t.claimedAt.getTime()+e.clock.monotonicMs()-n.claimedAtMs}i(ve,"ledgerNowMs");function Lo(t,e,n,r,o){if(n.deadlineAt!==null&&ve(n,r,o)>=n.deadlineAt.getTime())return $("deadline",`the run's deadline has passed before step "${t}"`,t);if(!(e<=o.remainingMs()-r.settings.settleReserveMs))return{kind:"yielded",why:"time"}}i(Lo,"whyNotNow");var x_=2**30;function E_({name:t}){return $("journal_mismatch",`step "${t}" was begun as an effect that happens once, and nobody knows whether it did; the code calls it as a plain step now`,t)}i(E_,"notPlain");async function uu(t,e){let{call:n,claim:r,run:o,hopSignal:s,log:a,effects:d,invocation:u}=t,l=e.settings.leaseHeld?{...t.options,timeoutMs:x_}:t.options,c={run:o,options:l,hopSignal:s,log:a,overdueAfterMs:e.settings.overdueAfterMs,onOverdue:i(()=>To(t,e),"onOverdue"),whyNotNow:i(()=>Lo(n.name,t.options.timeoutMs,r,e,u),"whyNotNow")};if(!l.once&&d.of(n).openIntent!==void 0)return{outcome:"stops",end:E_(n)};try{await e.faults("worker.before-step",n.name);let m=l.once?await au({...c,call:n,claim:r,probe:l.probe,...d.of(n),tried:i((p,w)=>d.tried(n,p,w),"tried"),ledgerNowMs:i(()=>ve(r,e,u),"ledgerNowMs")},e):await iu({...c,name:n.name,triesBefore:t.triesBefore,idempotencyKey:St(r.firstRunId,n),chance:e.chance,residentDelayMs:e.settings.residentDelayMs});return await e.faults("worker.after-step",n.name),m}catch(m){return l.once?{outcome:"stops",end:{kind:"unknown",error:m}}:{outcome:"error",failure:S(m),tries:1}}}i(uu,"liveStep");function To({call:t,claim:e,log:n},r){Mo(e,`step_overdue: ${t.name}`,n,r)}i(To,"askForAPerson");function Mo(t,e,n,r){r.ledger.runs.raiseAttention(t,e).catch(o=>{n.warn("attention could not be raised",{reason:e,error:String(o).slice(0,200)})})}i(Mo,"raiseAttention");var Vn=class{static{i(this,"InFlight")}#e;#n;#t=[];#r=0;constructor(e,n){this.#e=e,this.#n=n}start(e,n){let{claim:r,deps:o,invocation:s,effects:a,nextTries:d,hopSignal:u}=this.#n,l=e.step;if(l===void 0)return;let c=d.before(e);if(c===void 0)return;let m=Lo(e.id.name,l.timeoutMs,r,o,s);if(m!==void 0)return m;e.wait=void 0;let p=o.logFor(r),w={call:e.id,claim:r,run:n,options:l,hopSignal:u,log:p,effects:a,triesBefore:c,invocation:s},k={hop:this.#e,scope:e.id.scope,step:e.id.name};this.track(e,yt(k,()=>uu(w,o)))}track(e,n){let{deps:r,ended:o}=this.#n;this.#r+=1;let s=r.clock.monotonicMs();n.then(a=>{this.#r-=1,this.#t.push({call:e,end:a,tookMs:r.clock.monotonicMs()-s}),o()})}takeFinished(){return this.#t.shift()}hasFinished(){return this.#t.length>0}isEmpty(){return this.#r===0&&!this.hasFinished()}};var Qn=class{static{i(this,"JournalWriter")}#e;#n;#t;#r;#s;constructor(e,n,r,o){this.#r=o,this.#e=e,this.#n=r,this.#s=e.journalBytes,this.#t=[...n]}entries(){return this.#t}async reject(e,n){try{let{tenantId:r,runId:o}=this.#e,s=H(n.outcome==="ok"?n.value:n.failure),a=s===void 0?null:await this.#n.codec.encode(s,{tenantId:r,runId:o,kind:"result"});await this.#n.ledger.evidence.reject(this.#e,{call:R(e),outcome:n.outcome,bodyText:a,bodyDigest:a===null?null:v(a)}),await this.#o(e,n);return}catch(r){return r}}async#o(e,n){if(n.outcome!=="ok"||n.closesIntent!==!0)return;let{epoch:r,scope:o,kind:s,name:a,nth:d}=e,u=`[${[r,o,s,a,d].map(m=>JSON.stringify(m)).join(", ")}]`,{token:l}=this.#e;await this.#n.ledger.items.acknowledge(this.#e,{kind:"effect",key:u,by:"worker",words:"it has happened, says the worker that made the call",token:l})}async write(e,n,r){try{return await this.#i(e,n,r)}catch(o){if(!(o instanceof z))return{written:!1,end:{kind:"unknown",error:o}};let s=`the result of step "${e.name}": ${o.message}`;return{written:!1,end:$(o.reason,s,e.name)}}}async#i(e,n,r){let{tenantId:o,runId:s}=this.#e,a=H(n.outcome==="ok"?n.value:n.failure),d=a===void 0?null:await this.#n.codec.encode(a,{tenantId:o,runId:s,kind:"result"}),u=d===null?0:Buffer.byteLength(d);if(this.#s+u>Ie)throw new z("too_large",`it would bring the run's journal above ${Ie} bytes`);let l={...e,outcome:n.outcome,resultText:d,resultDigest:d===null?null:v(d),resultBytes:u,tries:n.tries,tookMs:r,closesIntent:n.outcome==="ok"&&n.closesIntent===!0},c=await Ce(()=>this.#n.ledger.journal.appendIfClaimed(this.#e,l),this.#r);return c===null?{written:!1,end:{kind:"fenced"}}:(this.#s+=u,this.#t.push({...e,ordinal:c.ordinal,outcome:n.outcome,digest:d===null?null:v(d)}),await this.#n.faults("worker.after-journal",e.name),{written:!0,text:a,completedAt:c.completedAt})}};var Yn=class{static{i(this,"NextTries")}#e;#n;#t;#r=new Map;#s=new Set;#o=!1;constructor(e,n,r){this.#e=e,this.#n=n,this.#t=r}before(e){let n=this.#r.get(e.key);if(n!==void 0)return n;let{triesBefore:r,dueAt:o}=this.#e.of(e.id);if(o===null||o.getTime()<=this.#n())return r;this.#i(e,o,r)}again(e,n,r){this.#o=!0,this.#i(e,n,r)}hasTried(){return this.#o}#i(e,n,r){e.wait={owner:"timer",dueAt:n,tries:r},this.#r.set(e.key,r);let o=setTimeout(()=>{this.#s.delete(o),e.start(),this.#t()},Math.min(2147483647,Math.max(0,n.getTime()-this.#n())));this.#s.add(o),this.#t()}stop(){for(let e of this.#s)clearTimeout(e)}};async function cu(t,e){await Ze();for(let n of t){if(lu(e))return;let r=await I_(n,e);if(r===void 0){let o=e.openCalls().map(s=>de(s.id));return lu(e)?void 0:(e.missed(n,o),$("journal_mismatch",`journal entry ${n.ordinal} is ${de(n)}, but the code ${o.length===0?"does not ask for it":`asks for ${o.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`))}e.resolve(r,n),await Ze()}}i(cu,"replay");function lu(t){let e=t.end();return t.refused()||e!==void 0&&e.kind!=="returned"&&e.kind!=="failed"}i(lu,"stops");async function I_(t,e){let n=e.nowMs();for(;;){let r=e.find(t);if(r!==void 0)return r;if(e.end()!==void 0||e.nowMs()-n>e.patienceMs)return;await Ze()}}i(I_,"askedFor");async function mu(t){if(!t.still())return!1;let e=t.nowMs()+t.patienceMs,[n,r]=[t.asked(),t.nowMs()];for(;;){if(await Yd(),!t.still())return!1;if(n!==t.asked()&&([n,r]=[t.asked(),t.nowMs()]),!(t.nowMs()<r+t.restMs)&&(t.nowMs()>=e||t.hasAll()&&!Xd()))return!0}}i(mu,"standsStill");function fu(t){let{runId:e,agent:n,requestedBy:r,deadlineAt:o,journalBytes:s}=t.claim;s>Ie&&t.asking.refuseAll($("too_large",C_));let a=new jo(e,t.claim.epoch);return{runId:e,agent:n,requestedBy:r,deadline:o===null?void 0:new Date(o),abortSignal:t.abortSignal,log:A_(t),step:i((d,u,l)=>t.asking.step(d,u,l),"step"),consent:i((d,u)=>t.asking.consent(d,u,r),"consent"),delegate:i((d,u,l,c)=>t.asking.delegate(d,u,l,c),"delegate"),child:i((d,u,l)=>t.asking.child(d,u,l),"child"),sleep:i((d,u)=>t.asking.sleep(d,u),"sleep"),waitForSignal:i((d,u)=>t.asking.signal(d,u),"waitForSignal"),map:i((d,u,l,c)=>t.asking.map(d,u,l,c),"map"),first:S_,restart:i(d=>t.asking.restart(d),"restart"),now:i(()=>new Date(t.now()),"now"),random:i(()=>pu("random",()=>a.here().random()),"random"),uuid:i(()=>pu("uuid",()=>a.here().uuid()),"uuid")}}i(fu,"workflowContext");var jo=class{static{i(this,"RandomStreams")}#e;#n;#t=new Map;constructor(e,n){this.#e=e,this.#n=n}here(){let e=ht()?.scope??"",n=this.#t.get(e);if(n!==void 0)return n;let r=new Et(this.#e,this.#n,e);return this.#t.set(e,r),r}};function S_(t){let e=Object.entries(t);return e.length===0?Promise.reject(new Oe("ctx.first({}) would wait for ever: give it named waits")):new Promise((n,r)=>{for(let[o,s]of e)s.then(a=>n({winner:o,value:a}),r)})}i(S_,"first");function pu(t,e){let n=ht()?.step;if(n===void 0)return e();throw new Oe(`ctx.${t}() was called inside step "${n}": draw outside, and use the value inside`)}i(pu,"outsideOfSteps");function A_(t){let e=i(n=>(r,o)=>{t.isLive()&&t.log[n](r,o)},"only");return{debug:e("debug"),info:e("info"),warn:e("warn"),error:e("error")}}i(A_,"whileLive");var C_=`what the run waited for has brought its journal above ${Ie} bytes: ctx.restart goes on with an empty one`;var ze=class{static{i(this,"Hop")}#e;#n;#t;#r;#s;#o;#i;#l;#m=new AbortController;#a=new Bn;#p;#u;#_;#f;#y;#h=!1;#g=!0;#w=!1;#b=!1;#d;#S;#A=!1;#k=he();constructor(e,n,r,o,s){this.#e=e,this.#n=n,this.#s=r.journal,this.#_=r.effects,this.#f=r.arms,this.#t=o,this.#r=s,this.#o=o.logFor(e);let a=i(()=>ve(e,o,s),"nowMs");this.#p=new Yn(r.retries,a,()=>this.#k.resolve()),this.#u=new Vn(this,{claim:e,deps:o,invocation:s,effects:r.effects,nextTries:this.#p,hopSignal:this.#m.signal,ended:i(()=>this.#k.resolve(),"ended")}),this.#y=e.startsAt??e.admittedAt,this.#l={chance:o.chance,mayGoOn:i(()=>this.mayWrite()&&s.remainingMs()>o.settings.settleReserveMs/2,"mayGoOn"),onPause:i(d=>this.#o.warn("the ledger is out of reach; a result waits",{kind:d.kind}),"onPause")},this.#i=new Qn(e,r.journal,o,this.#l)}async run(e,n){if(this.#E(e),await this.#I(),n!==void 0&&!this.#b&&!this.#w&&this.#g){let o=await Nd(()=>n(s=>this.#N(s)));o!==void 0&&(this.#c(o),this.#g&&(this.#d=o))}this.#h=!0;for(let o of this.#a.openCalls())o.start();let r=await this.#O();return this.#p.stop(),this.#q(r),this.#m.abort(new DOMException("the hop has ended","AbortError")),r}async openCalls(e,n){this.#E(e),await this.#I();let r=i(s=>this.#a.openCalls().some(a=>a.key===s),"isOpen");await this.#x(()=>n.every(r));let o=this.#a.openCalls();return this.#c({kind:"fenced"}),o}async rehearse(e,n){this.#E(e),await this.#I(),await this.#x(()=>n!=="its end"&&this.#C(n));let r=this.#a.openCalls().map(s=>s.id),o={missed:this.#S,end:this.#d,open:r};return this.#c({kind:"fenced"}),o}#C(e){return e.every(n=>this.#a.find(n)!==void 0)}async#N(e){return await this.#x(()=>this.#C(e)),this.#a.openCalls()}async#x(e){let n=this.#t.clock.monotonicMs();for(;this.#d===void 0&&!e();){if(this.#t.clock.monotonicMs()-n>this.#t.settings.replayPatienceMs)return;await Ze()}}fence(){this.#c({kind:"fenced"})}fail(e){this.#c(vo(e))}drain(){this.#c({kind:"yielded",why:"drain"})}mayWrite(){return this.#g}journal(){return this.#i.entries()}standingTries(){return this.#a.openCalls().filter(({wait:e})=>typeof e?.tries=="number")}hasTried(){return this.#p.hasTried()}unanswered(){return{calls:this.#a.openCalls().map(({id:e})=>e),more:this.#A}}#E(e){let n=new Kn({epoch:this.#e.epoch,hop:this,stepLimitMs:this.#r.limitMs-this.#t.settings.settleReserveMs,sources:Object.keys(this.#t.decisionSources),services:this.#t.delegation.services,registry:this.#t.registry,queues:this.#t.queues,calls:this.#a,now:i(()=>this.#y,"now"),hasEnded:i(()=>this.#d!==void 0,"hasEnded"),askedLate:i(()=>{this.#h&&this.#d!==void 0&&Ye(this.#d)&&(this.#A=!0)},"askedLate"),decide:i(s=>this.#c(s),"decide"),refuse:i(s=>{this.#w=!0,this.#c(s)},"refuse"),opened:i(s=>{this.#h&&s.start(),this.#k.resolve()},"opened"),start:i((s,a)=>{if(this.#d!==void 0&&!this.#v(this.#d,s))return;let d=this.#u.start(s,a);d!==void 0&&this.#c(d)},"start"),startChild:i((s,a)=>{if(this.#d!==void 0&&!this.#v(this.#d,s))return;let d=Td(this.#e,s,a,this.#f,this.#t,this.#l);this.#u.track(s,d.then(u=>u===void 0?{outcome:"stands"}:{outcome:"stops",end:u}))},"startChild")}),r=fu({claim:this.#e,log:this.#o,abortSignal:this.#m.signal,isLive:i(()=>this.#h||this.#s.length===0,"isLive"),now:i(()=>this.#y,"now"),asking:n});yt({hop:this,scope:"",step:void 0},i(async()=>this.#n.run(r,e),"body")).then(s=>this.#c({kind:"returned",output:s}),s=>this.#c(vo(s)))}#c(e){(this.#d===void 0||Dd(e,this.#d))&&(this.#d=e),(e.kind==="fenced"||e.kind==="unknown")&&(this.#g=!1),e.kind!=="returned"&&!Ye(e)&&this.#m.abort(new DOMException("the run does not go on here","AbortError")),this.#k.resolve()}async#I(){let e=await cu(this.#s,{find:i(n=>this.#a.find(n),"find"),openCalls:i(()=>this.#a.openCalls(),"openCalls"),end:i(()=>this.#d,"end"),refused:i(()=>this.#w,"refused"),resolve:i((n,r)=>this.#D(n,r.outcome,r.text,r.tries,r.completedAt),"resolve"),missed:i((n,r)=>{this.#S={entry:n,asked:r}},"missed"),patienceMs:this.#t.settings.replayPatienceMs,nowMs:i(()=>this.#t.clock.monotonicMs(),"nowMs")});e!==void 0&&(this.#b=!0,this.#d=e)}async#O(){for(;;){let e=this.#u.takeFinished();if(e!==void 0)await this.#P(e);else{if(this.#d!==void 0&&this.#u.isEmpty())return this.#d;if(await this.#R())this.#c({kind:"parked",standing:this.#a.openCalls()});else if(!this.#u.hasFinished()&&!(this.#d!==void 0&&this.#u.isEmpty())){let n=setTimeout(()=>this.#$(),this.#t.settings.overdueAfterMs);await this.#k.promise,clearTimeout(n),this.#k=he()}}}}#R(){let{clock:e,settings:n}=this.#t;return mu({still:i(()=>this.#d===void 0&&this.#u.isEmpty()&&this.#a.openCalls().length>0&&this.#a.openCalls().every(({wait:r})=>r!==void 0),"still"),asked:i(()=>this.#a.asked(),"asked"),hasAll:i(()=>this.#f.every(({call:r})=>this.#a.wasAsked(r)),"hasAll"),nowMs:i(()=>e.monotonicMs(),"nowMs"),restMs:n.parkRestMs,patienceMs:n.replayPatienceMs})}#$(){this.#d!==void 0||!this.#u.isEmpty()||(this.#o.warn("the code waits for something that is no step and no wait, perhaps for ever"),Mo(this.#e,"code_overdue: it waits for what is no step and no wait",this.#o,this.#t))}#v(e,n){return e.kind==="returned"?!0:e.kind==="restarted"&&this.#_.of(n.id).openIntent!==void 0}#q(e){if(e.kind==="returned")for(let{id:n}of this.standingTries())this.#o.warn("a step has further tries that the workflow did not wait for",{step:n.name})}async#P({call:e,end:n,tookMs:r}){if(n.outcome==="stops")return this.#c(n.end);if(n.outcome==="abandoned"||n.outcome==="stands")return;if(n.outcome==="later")return this.#p.again(e,new Date(ve(this.#e,this.#t,this.#r)+n.delayMs),n.tries);if(!this.#g)return this.#L(e,n);let o=await this.#i.write(e.id,n,r);if(!o.written)return o.end.kind==="fenced"&&await this.#i.reject(e.id,n),this.#c(o.end);n.outcome==="error"&&this.#d?.kind==="returned"&&this.#o.warn("a step failed that the workflow did not wait for",{step:e.id.name}),this.#D(e,n.outcome,o.text??null,n.tries,o.completedAt),await Ze()}async#L(e,n){let r=await this.#i.reject(e.id,n),o=r===void 0?void 0:S(r).message.slice(0,200),s=e.id.name;this.#o.warn("a step ended after its claim was gone; its result is rejected evidence",{step:s,error:o})}#D(e,n,r,o,s){this.#a.close(e),this.#y=s;let a=r===null?void 0:JSON.parse(r),d=e.wait?.receive;n==="ok"?e.result.resolve(d===void 0?a:d(a)):e.result.reject(new He(e.id.name,o,a))}};var Xn=class{static{i(this,"Registry")}#e=new Map;#n=new Map;#t=new Map;constructor(e){for(let n of e){let{name:r,version:o}=n.definition,s=`${r}@${o}`;if(this.#e.has(s))throw new y("configuration_invalid",`workflow "${r}" version ${o} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(s,n);let a=this.#n.get(r);(a===void 0||a.definition.version<o)&&this.#n.set(r,n);for(let d of n.definition.accepts)this.#r(n,d)}}#r(e,n){let{name:r,version:o}=e.definition,s=`${r}@${n}`,a=this.#t.get(s);if(a!==void 0)throw new y("configuration_invalid",`versions ${a.definition.version} and ${o} of workflow "${r}" both accept ${n}`,{fix:"Let one of them carry those runs on."});this.#t.set(s,e)}all(){return[...this.#e.values()]}pins(){return this.all().map(zo)}carried(){let e=[...this.#t].map(([r,{definition:o}])=>({name:o.name,version:o.version,digest:r.slice(o.name.length+1)})),n=[...this.pins(),...e].map(r=>[`${r.name}@${r.version}@${r.digest}`,r]);return[...new Map(n).values()]}choose(e,n){let r=n===void 0?this.#n.get(e):this.#e.get(`${e}@${n}`);if(r===void 0){let o=n===void 0?`"${e}"`:`"${e}" version ${n}`;throw new y("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(e){return this.#e.get(`${e.name}@${e.version}`)}carrier(e){let n=this.find(e);return n?.digest===e.digest?n:this.#t.get(`${e.name}@${e.digest}`)}};function zo({definition:t,digest:e}){return{name:t.name,version:t.version,digest:e}}i(zo,"pinOf");function Zn(t,e){let n=e.carrier(t);if(n!==void 0){let u=zo(n);return{workflow:n.definition,adopts:u.digest===t.digest?void 0:u}}let r=e.find(t),o=r===void 0?"this worker has none of that name and version":`this worker has ${r.digest}`,{name:s,version:a,digest:d}=t;return{absent:`the run is pinned to workflow "${s}" version ${a} with digest ${d}; ${o}`}}i(Zn,"pinnedWorkflow");var v_=3e4;async function gu(t,e,n,r){let o=await n.ledger.workflows.buildOf(t.workflow),s=t.workflowAbsentSince,a=s===null?0:t.claimedAt.getTime()-s.getTime();if(o===null||a>=n.settings.deployOverlapMs){let c=o===null?"no build is known to have it":`build "${o}" is known to have it`,m=s===null?"it was never given back":`it was given back for ${Math.floor(a/1e3)} s, since ${s.toISOString()}`;return $("workflow_changed",`${e}; ${c}, and ${m}`)}let{name:d,version:u,digest:l}=t.workflow;return n.logFor(t).warn("this build lacks the run's workflow; its delivery goes back for one that has it",{workflow:d,version:u,digest:l,build:o,waitedSeconds:Math.floor(a/1e3)}),{kind:"given_back",dueAt:new Date(ve(t,n,r)+v_),why:"this build lacks its workflow",workflowAbsent:!0}}i(gu,"endWithoutWorkflow");async function _u(t,e,n,r){let o={...pt(t,n),workflowDigest:e.digest};if(await r.faults("worker.before-adopt",t.runId),!await r.ledger.runs.adoptIfClaimed(t,e,o))return{kind:"fenced"};r.logFor(t).info("the run goes on with code that accepts its digest",{workflow:e.name,version:e.version,digest:e.digest,before:t.workflow.digest})}i(_u,"adopt");async function hu(t,e,n,r){let o=new AbortController,s=!1,a=i(()=>o.abort(new DOMException("the containment does not go on here","AbortError")),"stop");r.onHop({fence:i(()=>{s=!0,a()},"fence"),drain:a});try{let d=(await e.ledger.items.ofRun(t)).filter(D_),u=Zn(t.workflow,e.registry);if("absent"in u)return e.logFor(t).warn("a contain delivery has come to a build without the run's workflow",{workflow:t.workflow.name,version:t.workflow.version,digest:t.workflow.digest}),await er(t,"refused",e);let l=await ft(t,u.workflow,e);if(!gt(l))return await er(t,"refused",e);let c=new ze(t,u.workflow,l,e,n),m=d.map(k=>yu(k.key)),p=new Map((await c.openCalls(l.input,m)).map(k=>[R(k.id),k])),w=await Promise.all(d.map(k=>N_(t,k,p.get(yu(k.key)),o.signal,e)));return s?{kind:"fenced"}:await er(t,w.every(Boolean)?"done":"failed",e)}catch(d){if(!(d instanceof V)&&!(d instanceof oe))throw d;return e.logFor(t).error("a contain delivery could not be begun",{error:d.message}),er(t,"refused",e)}}i(hu,"carryContain");function yu(t){return JSON.stringify(JSON.parse(t))}i(yu,"sameKey");function D_(t){return t.kind==="effect"&&t.acknowledgedAt===null}i(D_,"isOpenEffect");async function N_(t,e,n,r,o){if(n?.step?.probe===void 0)return!1;let s=o.logFor(t),a=await Po(n.step.probe,{call:n.id,claim:t,options:n.step,log:s,hopSignal:r,overdueAfterMs:o.settings.overdueAfterMs,onOverdue:i(()=>To({call:n.id,claim:t,log:s},o),"onOverdue")});if(typeof a=="string"||a.outcome==="unknown")return s.warn("an effect of an ending run is still unknown",{step:n.id.name,reason:typeof a=="string"?a:"unknown"}),!1;let d=a.outcome==="happened"?"it has happened":"it has not happened, and cannot any more";return await o.ledger.items.acknowledge(t,{kind:"effect",key:e.key,by:"probe",words:d,under:t})!==null}i(N_,"settleEffect");async function er(t,e,n){let{settled:r,ended:o}=await n.ledger.deliveries.settleContainIfClaimed(t,e);return r?(o===null&&(e!=="done"&&await n.ledger.runs.raiseAttention(t,`containment ${e}: an effect is still unknown`),await n.ledger.items.containSooner(t,n.settings.maxContainDeliveries)),{kind:"contained",outcome:e}):{kind:"fenced"}}i(er,"finish");async function et(t,e){try{return await e()}catch(n){throw new oe(`${t}: ${S(n).message.slice(0,200)}`)}}i(et,"encoded");async function Qt(t){try{return await t()}catch(e){if(!(e instanceof oe))throw e;let n="Ask again later: nothing was written.";throw new y("codec_unavailable",e.message,{fix:n,cause:e})}}i(Qt,"withCodec");function ku(t){return t!==void 0&&$e.CALLBACK_TOKEN.test(t)}i(ku,"isCallbackToken");function Fo({tenantId:t,runId:e,attemptId:n},r){return v(`ghouls-callback-1
${JSON.stringify([t,e,n,r])}`)}i(Fo,"callbackDigest");var O_="0".repeat(64);function tr(t,e,n){let r=Fo(t??{tenantId:"",runId:"",attemptId:""},n);return Ke(r,e??O_)&&t!==null}i(tr,"isTokenOf");var wu=43,R_=/(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43,128}(?![A-Za-z0-9_-])/g;function Go(t,e){if(t.callbackDigest===null)return!1;let n=new Set;for(let[r]of e.matchAll(R_))for(let o=0;o+wu<=r.length;o+=1)n.add(r.slice(o,o+wu));return[...n].some(r=>tr(t,t.callbackDigest,r))}i(Go,"repeatsToken");var $_=10,bu=30,q_=86400;function Eu({cancelAsked:t,overdue:e,armOpen:n,parked:r}){return t||e||!n?"no":r?"now":"later"}i(Eu,"demandOf");function Fe(t){let{status:e,traits:n,late:r,acknowledgedAt:o,submissions:s,misses:a,unsent:d}=t;return{status:e,traits:n,late:r,acknowledged:o!==null,demand:Eu(t),submissions:s,misses:a,unsent:d}}i(Fe,"askedOf");function nr({adapter:t,version:e,identity:n}){return v(X({adapter:t,version:e,identity:n}))}i(nr,"digestOfService");function ke(t,e){if(e==="DEFINED"||t.unsent)return bu;let n=t.status===e?t.looks+1:0;return(e==="SUBMITTED"||e==="RUNNING")&&Eu(t)!=="no"?tn(t.pollSeconds??q_,n):tn(e==="SUBMITTING"?$_:bu,n)}i(ke,"secondsToNextLook");var xu="what it gave repeats the callback's token, a secret";async function wt(t,e,n){if(e.state==="unknown"||e.state==="unsent"){let d=Go(t,e.why)?xu:e.why;return{answer:{state:e.state,why:d}}}if(e.state!=="succeeded"&&e.state!=="failed")return{answer:e};let r;try{let d=e.state==="succeeded"?e.result??null:T_(e.error);r=Dr(H(d)??"null").canonical}catch(d){if(!(d instanceof z)&&!(d instanceof y))throw d;return{answer:{state:"unknown",why:`what it gave cannot be kept: ${S(d).message}`}}}if(Go(t,r))return{answer:{state:"unknown",why:xu}};let{tenantId:o,runId:s}=t,a=await et("the report of a job",()=>n.encode(r,{tenantId:o,runId:s,kind:"report"}));return{answer:e,outcome:{report:{reportText:a,reportDigest:v(a)},canonical:r}}}i(wt,"outcomeOf");var P_=200,L_=2e3;function T_({code:t,message:e}){let n=i((r,o)=>r.slice(0,o).replaceAll("\0","\uFFFD").toWellFormed(),"cut");return{code:n(t,P_)||"unknown",message:n(e,L_)}}i(T_,"bounded");function Iu({status:t},e,n,r){let o=i(s=>`it is ${t}, and then the service said that ${s}`,"said");switch(e.state){case"succeeded":case"failed":return t===(e.state==="succeeded"?"SUCCEEDED":"FAILED")&&n!==void 0&&(r===void 0||r===n.canonical)?void 0:o(e.state==="failed"?"it failed":"it succeeded, with another result");case"cancelled":return t==="CANCELLED"?void 0:o("it was cancelled");case"accepted":case"running":return t==="CANCELLED"?o("it runs"):void 0;case"absent":case"unsent":case"unknown":return}}i(Iu,"contradictionOf");function rr(t,e,n){return Promise.all(e.flatMap(({id:r,wait:o})=>{if(o===void 0)return[];let s={call:r,armId:n.ids.next(),owner:o.owner,dueAt:o.dueAt,tries:o.tries},{consent:a,job:d}=o;return a!==void 0?[M_(t,a,n).then(u=>({...s,consent:u}))]:d!==void 0?[j_(t,r.name,d,n).then(u=>({...s,attempt:u}))]:[Promise.resolve(s)]}))}i(rr,"standingOf");async function M_(t,e,{codec:n,ids:r}){let{title:o,deciders:s,quorum:a,expiresMs:d,onExpiry:u,requesterMayDecide:l,source:c}=e,m=X({runId:t.runId,workflow:t.workflow,...Do(e)}),{tenantId:p,runId:w}=t,[k,x]=await et(`the consent "${o}"`,async()=>[await n.encode(m,{tenantId:p,runId:w,kind:"consent"}),await me(n,m)]);return{consentId:r.next(),title:o,requestText:k,storedDigest:v(k),requestDigest:x,deciders:s,quorum:a,requesterMayDecide:l,onExpiry:u,expiresInSeconds:d===null?null:d/1e3,source:c}}i(M_,"frozen");async function j_(t,e,n,{codec:r,ids:o}){let{service:s,definition:a,requestText:d,deadlineMs:u,heartbeatMs:l}=n,{tenantId:c,runId:m}=t,[p,w]=await et(`the job "${e}"`,async()=>[await r.encode(d,{tenantId:c,runId:m,kind:"job"}),await me(r,Pd(n))]),k=o.next(),x=i(O=>O===null?null:O/1e3,"seconds");return{attemptId:k,service:s,adapter:a.adapter,adapterVersion:a.version,serviceDigest:nr(a),traits:a.traits,requestText:p,storedDigest:v(p),requestDigest:w,idempotencyKey:`ghouls-${k}`,pollSeconds:x(a.times.pollMs),heartbeatSeconds:x(l),deadlineSeconds:x(u)}}i(j_,"frozenJob");async function Uo(t,{journal:e,calls:n,idle:r,dueAt:o},s,a){let{deliveries:d}=a.ledger,u=pt(t,e),l={idle:r,publisherGraceSeconds:a.settings.publisherGraceSeconds,...o===void 0?{}:{dueAt:o}},c=await rr(t,n,a);await a.faults("worker.before-handover",t.runId);let m=c.length===0?await d.yieldIfClaimed(t,u,l):await d.yieldStandingIfClaimed(t,u,c,l);return await a.faults("worker.after-handover",t.runId),m===null?{kind:"fenced"}:(o===void 0&&await or(t,m,a),{kind:"handed_over",why:s})}i(Uo,"handOver");async function Wo(t,e,n){await n.faults("worker.before-handover",t.runId);let r=await n.ledger.deliveries.giveBackIfClaimed(t,e.dueAt,e.workflowAbsent);return await n.faults("worker.after-handover",t.runId),r===null?{kind:"fenced"}:{kind:"handed_over",why:e.why}}i(Wo,"giveBack");async function or(t,e,n){let{tenantId:r,runId:o}=t;await n.publisher.publish({tenantId:r,runId:o,enqueueSeq:e.enqueueSeq,queue:e.queue})}i(or,"publishNext");async function ir(t,e,n,r){let{answer:o,outcome:s}=await wt(t,F_(e,n),r.codec),a,d=await r.ledger.attempts.change(t,l=>{if(!z_(l,t,o,n)){a=l;return}if(!(n.sentFor===void 0&&(o.state==="unknown"||o.state==="unsent")&&l.looks!==t.looks))return Ko(l,Be({...Fe(l),late:n.late},o),o,{outcome:s,by:"service",sentFor:n.sentFor})},r.settings),u=o.state==="accepted"||o.state==="running";if(a!==void 0&&!u&&await Bo(a,o,s,r),await De(t,d,r),d!==null&&(o.state==="unknown"||o.state==="unsent")){let{runId:l,attemptId:c,service:m}=t;r.log.warn("a question about a job came to nothing",{runId:l,attemptId:c,service:m,why:o.why})}return d}i(ir,"recordAnswer");function z_(t,e,n,{sentFor:r}){if(t.token!==e.token||t.closedAt!==null)return!1;let o=n.state==="succeeded"||n.state==="failed",s=r!==void 0&&["accepted","running","unsent"].includes(n.state);return t.status===e.status||o||s}i(z_,"mayMove");function F_(t,{sentFor:e}){return t.state==="unsent"&&e===void 0?{state:"unknown",why:t.why}:t}i(F_,"heard");function Ko(t,e,n,r){let{outcome:o,by:s,sentFor:a,usesCallback:d=!1}=r,u=e.kind==="move"?e.to:t.status,l=u==="SUCCEEDED"||u==="FAILED";return{status:u,by:s,acknowledged:n.state==="accepted"||n.state==="running"||l,missed:e.kind==="keep"&&e.missed,nextLookSeconds:ke(t,u),usesCallback:d,...l&&o!==void 0?{report:o.report}:{},..."why"in e?{why:e.why}:{},...n.state==="unsent"?G_(t,n.why):{},...a===void 0?{}:{sentFor:a}}}i(Ko,"changeOf");function G_({misses:t},e){return{unsent:!0,...t+1<3?{}:{attention:`it cannot be sent: ${e}`}}}i(G_,"unsentOf");async function De(t,e,{publisher:n,log:r}){if(e===null)return;let{runId:o,attemptId:s,service:a}=t;if(e.status!==t.status){let d=e.status==="UNCERTAIN"?"warn":"info";r[d]("an attempt has moved",{runId:o,attemptId:s,service:a,from:t.status,to:e.status})}e.ended!==null&&r.info("a run has ended with its last job",{runId:o,status:e.ended}),e.resumption!==null&&await n.publish(e.resumption)}i(De,"follow");async function Bo(t,e,n,{ledger:r,codec:o,log:s}){if(t.closedAt===null)return;let a=await sr(t,o),d=Iu(t,e,n,a);if(d===void 0)return;let{runId:u,attemptId:l,service:c,status:m}=t;s.error("a service contradicts the end of its job",{runId:u,attemptId:l,service:c,status:m}),await r.attempts.keepContradiction(t,d)}i(Bo,"tellContradiction");async function sr(t,e){let{tenantId:n,runId:r,reportText:o,reportDigest:s}=t;if(o!==null)return ie(o,s,"a report",a=>e.decode(a,{tenantId:n,runId:r,kind:"report"}))}i(sr,"saidOf");var U_=1e3,Yt=class extends Error{static{i(this,"ExecutorError")}constructor(e){super(e),this.name="ExecutorError"}},W_=30*86400;function Ho(t,{services:e}){let n=t.service,r=Object.hasOwn(e,n)?e[n]:void 0;if(r===void 0)throw new Yt(`the configuration has no service "${n}"`);if(nr(r)!==t.serviceDigest)throw new Yt(`the service "${n}" is another executor now than the one that the job was made for`);return r}i(Ho,"executorOf");async function Jo(t,e,n,r,{delegation:o}){let s=Math.floor(Math.min(t.times.timeoutMs,r));if(s<1)return{answer:{state:"unknown",why:"there was no time left to ask"},over:!0};try{return{answer:await o.egress.ask(e,n,s),over:!0}}catch(a){return{answer:{state:"unknown",why:S(a).message.slice(0,300)},over:!(a instanceof Qe)}}}i(Jo,"ask");async function ar(t,e,n,r=()=>e.settings.ownerDeadlineMs){let{delegation:o,ids:s,clock:a,faults:d,settings:u,worker:l}=e,c=Ho(t,o),m=Math.min(c.times.timeoutMs,r())+U_;if(n()<m||r()<1)return null;let p=await B_(t,e),w=o.publicUrl===void 0?null:{url:H_(o.publicUrl,t.attemptId),token:o.newToken()},k=w===null?null:Fo(t,w.token),[x,O,q]=[a.monotonicMs(),a.wallMs(),n()],T=s.next();if(await d("delegate.before-claim",t.attemptId),!await K_(t,T,{deps:e,submission:{token:T,submitter:l,sendsForSeconds:Math.max(0,q)/1e3+u.actsMarginSeconds,callbackDigest:k,callbackSeconds:W_,nextLookSeconds:Math.ceil(c.times.timeoutMs/1e3)+u.publisherGraceSeconds}}))return null;await d("delegate.after-claim",t.attemptId);let We=Math.max(a.monotonicMs()-x,a.wallMs()-O),Ne={...t,status:"SUBMITTING",token:T,callbackDigest:k};if(We>q)return null;let{tenantId:Zt,runId:yr,attemptId:hr,idempotencyKey:hl}=t,wl={tenantId:Zt,runId:yr,attemptId:hr,idempotencyKey:hl,requestText:p,callback:w},{answer:ti,over:kl}=await Jo(c,t.service,{kind:"submit",job:wl},r(),e);await d("delegate.after-submit",hr);let bl=kl?u.actsMarginSeconds:null,xl=ti.state==="unknown"?bl:0,El=await ir(Ne,ti,{late:!1,sentFor:xl},e);return await d("delegate.after-answer",hr),El}i(ar,"submitJob");async function K_(t,e,{deps:{ledger:n},submission:r}){try{return await n.attempts.claimSubmission(t,r)}catch(o){if(!(o instanceof L)||o.kind!=="unknown")throw o;let s=await n.attempts.get(t);return s?.status==="SUBMITTING"&&s.token===e}}i(K_,"claim");async function B_(t,{ledger:e,codec:n}){let{tenantId:r,runId:o,storedDigest:s}=t,a=(await e.attempts.get(t))?.requestText??"";return ie(a,s,"a job's request",d=>n.decode(d,{tenantId:r,runId:o,kind:"job"}))}i(B_,"requestOf");function H_(t,e){return`${t.replace(/\/+$/,"")}/v1/attempts/${e}/callback`}i(H_,"callbackUrl");function Su(t){return t instanceof Yt||t instanceof oe||t instanceof V}i(Su,"isOfAttempt");async function Au(t,e,n,r,o){let s=await rr(t,n,r);await r.faults("worker.before-park",t.runId);let a=pt(t,e),{publisherGraceSeconds:d}=r.settings,u=i(()=>r.ledger.deliveries.parkIfClaimed(t,a,s,{publisherGraceSeconds:d}),"commit"),l=await u();for(;l?.kind==="mismatch"&&l.ownerId!==void 0;){let{ownerId:c,key:m}=l,p=n.find(k=>k.key===m)?.wait,w=await Jt(t,c,p,r);if(w===void 0)break;s=s.map(k=>R(k.call)===m?J_(k,w):k),l=await u()}if(await r.faults("worker.after-park",t.runId),l===null)return{kind:"fenced"};switch(l.kind){case"mismatch":return{kind:"refused",end:$("journal_mismatch",`${l.what}: the code has changed or is not deterministic`)};case"continued":return await or(t,l.next,r),{kind:"handed_over",why:"what it waited for had happened"};case"parked":return await Promise.all([Q_(t,l.arms,r),V_(t,l.arms,o,r)]),{kind:"parked",status:l.status}}}i(Au,"park");function J_(t,e){return t.consent!==void 0?{...t,consent:{...t.consent,requestDigest:e}}:t.attempt===void 0?t:{...t,attempt:{...t.attempt,requestDigest:e}}}i(J_,"withDigest");async function V_(t,e,n,r){if(!n.endsByForce||!e.some(({attemptStatus:s})=>s==="DEFINED"))return;let o=r.logFor(t);try{let s=await r.ledger.attempts.definedOfRun(t);await Promise.all(s.map(a=>ar(a,{...r,log:o},n.remainingMs).catch(d=>{let u=S(d).message.slice(0,300);o.warn("a job could not be submitted; the reconciler looks after it",{job:a.name,error:u})})))}catch(s){o.warn("the run's jobs could not be read; the reconciler looks after them",{error:String(s).slice(0,200)})}}i(V_,"submitAtOnce");async function Q_(t,e,n){let r=e.flatMap(({armId:a,dueInSeconds:d,call:u,seq:l})=>{if(d===null||d>ue)return[];if(l!==t.seq&&u.kind!=="step")return[];let c=Math.max(0,Math.ceil(d));return[{armId:a,tenantId:t.tenantId,queue:t.queue,delaySeconds:c}]});if(r.length===0)return;let o=await n.queue.wake(r),[s]=o;s!==void 0&&n.logFor(t).warn("timers could not be sent; the reconciler will wake the run",{count:o.length,reason:s})}i(Q_,"wakeInTime");async function Cu(t,e,n){let r=await Y_(t,e,n);if("end"in r)return{kind:"refused",end:r.end};await n.faults("worker.before-restart",t.runId);let o=await n.ledger.runs.restartIfClaimed(t,{inputText:r.stored,inputDigest:v(r.stored),workflowDigest:t.workflow.digest,journalDigest:zn([]),epoch:t.epoch},{publisherGraceSeconds:n.settings.publisherGraceSeconds});return await n.faults("worker.after-restart",t.runId),o===null?{kind:"fenced"}:(await or(t,o,n),{kind:"handed_over",why:"restart"})}i(Cu,"restart");async function Y_(t,e,n){let r=i((o,s)=>({end:$(o,`ctx.restart: the new input ${s}`)}),"refuse");try{let o=H(e)??"null",s=n.registry.find(t.workflow)?.definition,a=s===void 0?void 0:await Gn(s,o);if(a!==void 0)return r("input_invalid",`does not fit the workflow's schema: ${a}`);let{tenantId:d,runId:u}=t,l={tenantId:d,runId:u,kind:"input"};return{stored:await et("the input of a restart",()=>n.codec.encode(o,l))}}catch(o){if(o instanceof z)return r(o.reason,o.message);throw o}}i(Y_,"newInput");import{setTimeout as ey}from"node:timers/promises";async function dr(t,e,n,r){let{tenantId:o,runId:s}=t,a=n.kind==="returned"?await Z_(e,n.output):n.failure;if(X_(a)){let u=await r.codec.encode(JSON.stringify(a),{tenantId:o,runId:s,kind:"error"});return{status:"FAILED",errorCode:a.code,errorText:u,errorDigest:v(u)}}if(a.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(a.text,{tenantId:o,runId:s,kind:"output"});return{status:"DONE",outputText:d,outputDigest:v(d)}}i(dr,"settlementOf");function X_(t){return"code"in t}i(X_,"isFailure");async function Z_(t,e){try{let n=await t?.output?.safeParseAsync(e);return n!==void 0&&!n.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${n.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:H(n===void 0?e:n.data)}}catch(n){return n instanceof z?{code:n.reason,name:"Refused",message:`what the workflow returned: ${n.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${S(n).message.slice(0,500)}`}}}i(Z_,"outputOf");async function vu(t,e,n){await n.faults("worker.before-settle",t.runId);let r=await n.ledger.deliveries.settleIfClaimed(t,e);return await n.faults("worker.after-settle",t.runId),r}i(vu,"settle");var ty="Code outside of steps must do the same each time: use ctx.now(), ctx.random() and ctx.uuid() instead of Date.now(), Math.random() and crypto.randomUUID(), and read what may change inside a step.";async function Ou(t,e,n){let{claim:r,workflow:o}=t,s=e.logFor(r);try{await e.faults("worker.before-replay-check",r.runId),await ny(e);let a=await ry(t,e,n);if(a!==void 0){let{name:d,version:u}=o;s.warn(`${d}: on replay, ${a}`,{check:"replay",workflow:d,version:u,fix:ty})}await e.faults("worker.after-replay-check",r.runId)}catch(a){s.warn("a hop could not be replayed for the check",{error:S(a).message.slice(0,200)})}}i(Ou,"checkReplay");async function ny({clock:t}){let e=t.wallMs();for(;t.wallMs()<=e;)await ey(1)}i(ny,"untilLater");async function ry(t,e,n){let{claim:r,workflow:o,end:s,unanswered:a,journalLength:d}=t;if(s.kind==="failed"&&s.failure.code==="journal_mismatch")return;let u={...r,journalLength:r.journalStart+d},l=d===0?[]:await e.ledger.journal.read(r,r.journalStart),c=await Fn(u,l.slice(0,d),e.codec),m=await ft({...r,journalLength:r.journalStart,checkpointGeneration:null,seq:1},o,e);if(!gt(m))return;let p={...e,log:Nu,logFor:i(()=>Nu,"logFor")},k=await new ze(u,o,{...m,journal:c},p,{...n,remainingMs:i(()=>n.limitMs,"remainingMs")}).rehearse(m.input,Vo(s)?"its end":a.calls),{missed:x}=k;if(x===void 0)return oy(t,k);let O=x.asked.length===0?"not asked for":x.asked.join(", ").slice(0,500);return`call ${x.entry.ordinal} is ${O} where the run had ${de(x.entry)}`}i(ry,"differenceOf");async function oy({claim:t,workflow:e,end:n,unanswered:r},{end:o,open:s}){let a=o!==void 0&&Vo(o)?o:void 0;if(n.kind==="parked"||Ye(n))return iy(r,a,s);if(!Vo(n))return;if(a===void 0){let l=Ru(s);return l!==""?`it asks for ${l} where the run ${Xt(n)}`:`it does not come to its end, where the run ${Xt(n)}: it waits for something outside of steps`}let[d,u]=await Promise.all([Du(t,e,n),Du(t,e,a)]);if(d!==u)return a.kind!==n.kind||n.kind==="failed"?`it ${Xt(a)} where the run ${Xt(n)}`:n.kind==="returned"?"it returns something else than in the run":"it continues as new with another input than in the run"}i(oy,"differenceOfEnds");function iy({calls:t,more:e},n,r){let o=new Set(r.map(R)),s=t.find(u=>!o.has(R(u)));if(s===void 0&&!(e&&n!==void 0))return;let a=s===void 0?"went on":`asked for ${de(s)}`;return`it ${n===void 0?`asks for ${Ru(r)||"nothing"}`:Xt(n)} where the run ${a}`}i(iy,"differenceOfCalls");function Ru(t){return t.map(de).join(", ").slice(0,500)}i(Ru,"inList");function Vo(t){return t.kind==="returned"||t.kind==="restarted"?!0:t.kind==="failed"&&(t.failure.code==="workflow_failed"||t.failure.code==="step_failed")}i(Vo,"isOfCode");function Xt(t){return t.kind==="returned"?"returned":t.kind==="restarted"?"continued as new":`failed (${t.failure.name}: ${t.failure.message.slice(0,200)})`}i(Xt,"inWords");async function Du(t,e,n){if(n.kind==="failed"){let{code:o,name:s,message:a,step:d}=n.failure;return JSON.stringify([o,s,a,d??null])}if(n.kind==="restarted")return sy(n.input);let r=await dr(t,e,n,{codec:qr});return r.status==="DONE"?`DONE ${r.outputDigest}`:`FAILED ${r.errorDigest}`}i(Du,"endOf");function sy(t){try{return H(t)??"null"}catch(e){return S(e).message}}i(sy,"newInputOf");var Nu={debug:i(()=>{},"debug"),info:i(()=>{},"info"),warn:i(()=>{},"warn"),error:i(()=>{},"error")};async function qu(t,e,n,r){try{await e.faults("worker.after-claim",t.runId);let o=t.cause==="contain"?await hu(t,e,n,r):await ay(t,e,n,r);return o.kind==="fenced"&&await cy(t,e),o}catch(o){return o instanceof V?py(t,o.message,e):o instanceof oe?my(t,o,e,n):{kind:"unknown",error:o}}}i(qu,"carry");async function ay(t,e,n,r){let o=Zn(t.workflow,e.registry);if("absent"in o){let O=await gu(t,o.absent,e,n);return Ge(t,O,e,n,void 0)}let s=await ft(t,o.workflow,e);if(!gt(s)){if(o.adopts!==void 0&&s.kind==="failed")throw $u(o.adopts,s.failure.message);return Ge(t,s,e,n,void 0)}if(t.deadlineAt!==null&&t.claimedAt>=t.deadlineAt){let O=`the run's deadline ${t.deadlineAt.toISOString()} had passed when a worker claimed it`;return Ge(t,$("deadline",O),e,n,void 0)}if(t.workflowAbsentSince!==null&&!await e.ledger.runs.clearAbsenceIfClaimed(t))return{kind:"fenced"};let a=new ze(t,o.workflow,s,e,n);r.onHop(a);let{adopts:d,workflow:u}=o,l=!1,c=i(async(O,q)=>{let T=await Ld(t,s,await q(Oo(s)),e);if(T!==void 0)return $("journal_mismatch",T);let ae=await _u(t,O,s.journal,e);return l=ae===void 0,ae},"takeOver"),m=await a.run(s.input,d===void 0?void 0:O=>c(d,O));if(d!==void 0&&!l&&m.kind==="unknown"&&dy(m.error))throw m.error;let p=a.unanswered();if(d!==void 0&&!l&&m.kind==="failed")throw $u(d,m.failure.message);let w=d===void 0||!l?t:{...t,workflow:d},k=await Ge(w,m,e,n,a),x=k.kind!=="fenced"&&k.kind!=="unknown"&&k.kind!=="quarantined";if(e.settings.replayCheck&&x){let O={claim:w,workflow:u,end:m,unanswered:p,journalLength:a.journal().length};Ou(O,e,n)}return k}i(ay,"carryHop");function dy(t){return t instanceof oe||t instanceof V}i(dy,"isOfMaterial");function $u(t,e){return new V(`workflow digest ${t.digest} accepts the run's, but ${e}`)}i($u,"untrue");async function Ge(t,e,n,r,o){switch(e.kind){case"fenced":case"unknown":return e;case"given_back":{let[s,a]=[o?.journal()??[],o?.standingTries()??[]];return Ce(()=>a.length===0?Wo(t,e,n):Uo(t,{journal:s,calls:a,idle:!1,dueAt:e.dueAt},e.why,n),ur(t,n,r,o))}case"yielded":{let s=o?.journal()??[],a=s.length-(t.journalLength-t.journalStart),d=e.why==="time"&&o!==void 0&&a===0&&!o.hasTried();if(!d||t.idleYields===0){let u=o?.standingTries()??[];return Ce(()=>Uo(t,{journal:s,calls:u,idle:d},e.why,n),ur(t,n,r,o))}return Ge(t,$("no_progress",uy),n,r,o)}case"parked":case"restarted":{let s=o?.journal()??[];if(e.kind==="restarted"&&s.length===0)return Ge(t,$("no_progress",ly),n,r,o);let a=await Ce(()=>e.kind==="parked"?Au(t,s,e.standing,n,r):Cu(t,e.input,n),ur(t,n,r,o)).catch(d=>{if(d instanceof oe)return d;throw d});return a instanceof oe?Ge(t,Pu(t,a,n,r),n,r,o):a.kind==="refused"?Ge(t,a.end,n,r,o):a}case"returned":case"failed":{let s=n.registry.find(t.workflow)?.definition,a=await dr(t,s,e,n),d=await Ce(()=>vu(t,a,n),ur(t,n,r,o));if(!d.settled)return{kind:"fenced"};a.status==="FAILED"&&a.errorCode==="effect_unknown"&&await n.ledger.runs.raiseAttention(t,"effect_unknown: an effect may or may not have happened"),fe(d.runStatus)&&await Md(t,n,n.logFor(t));let u=a.status==="FAILED"?a.errorCode:void 0;return{kind:"settled",status:d.runStatus,...u===void 0?{}:{code:u}}}}}i(Ge,"conclude");function ur(t,e,n,r){return{chance:e.chance,mayGoOn:i(()=>r?.mayWrite()!==!1&&n.remainingMs()>e.settings.settleReserveMs/2,"mayGoOn"),onPause:i(o=>e.logFor(t).warn("the ledger is out of reach; the hop's end waits",{kind:o.kind}),"onPause")}}i(ur,"persistenceOf");var uy="two invocations in a row ended without a new journal entry: a step does not fit into one",ly="ctx.restart without a single journaled call before it would go on for ever";async function cy(t,e){try{await e.ledger.items.acknowledgeWorker(t)}catch(n){e.logFor(t).warn("a worker could not acknowledge its own end",{error:String(n).slice(0,200)})}}i(cy,"acknowledge");function Pu(t,e,n,r){return n.logFor(t).error("a codec could not do its work; the delivery goes back",{error:e.message}),{kind:"given_back",dueAt:new Date(ve(t,n,r)+3e4),why:"a codec could not do its work"}}i(Pu,"afterCodec");async function my(t,e,n,r){try{return await Wo(t,Pu(t,e,n,r),n)}catch(o){return{kind:"unknown",error:o}}}i(my,"later");async function py(t,e,n){try{return await n.ledger.runs.quarantineIfClaimed(t,e)?{kind:"quarantined",reason:e}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}i(py,"quarantine");var fy=10;async function Lu(t,e){let n=new Map;return await Promise.all(t.map(async({messageId:r,body:o})=>{let s=Or(o);s!==void 0&&n.set(r,await gy(s,e))})),n}i(Lu,"wakeUp");async function gy(t,{ledger:e,publisher:n,settings:r,log:o,faults:s}){try{let a=await e.arms.runOf(t);if(a===null||!a.open)return{done:!0,reason:"timer_closed"};let{tenantId:d,runId:u,dueInSeconds:l}=a;if(l!==null&&l>0)return{done:!1,reason:"timer_early",retryInSeconds:Math.min(ue,Math.ceil(l))};let c=await e.runs.resume({tenantId:d,runId:u},r.publisherGraceSeconds);return await s("worker.after-wake",u),c===null?{done:!0,reason:"timer_kept"}:(o.info("a run was brought back by its timer",{runId:u,armId:t,lateSeconds:Math.round(-(l??0))}),await n.publish(c),{done:!0,reason:"timer_woke"})}catch(a){return o.warn("a timer's message could not be followed; it comes back",{armId:t,error:S(a).message.slice(0,200)}),{done:!1,reason:"timer_unknown",retryInSeconds:fy}}}i(gy,"wakeArm");async function kt({tenantId:t,runId:e},n,{codec:r,log:o}){try{let s=await r.encode(JSON.stringify(n),{tenantId:t,runId:e,kind:"error"});return{errorText:s,errorDigest:v(s)}}catch(s){o.error("the codec could not write why a run ends; the next pass tries",{runId:e,code:n.code,error:S(s).message.slice(0,200)});return}}i(kt,"keptFailure");async function lr(t,e={}){let{ledger:n,publisher:r,faults:o,log:s,settings:a}=t,{found:d,next:u}=await n.deliveries.lapsed(t.pageSize,e);if(d.length===0)return{counts:{lapsed:0,resumed:0,failing:0,failed:0},next:void 0};await o("reanimation.after-select",`${d.length} lapsed`);let l=(await Promise.all(d.map(w=>_y(w,t)))).flat(),c=await n.deliveries.settleLost(l,a);await o("reanimation.after-judgement",`${c.length} judged`);let m=c.filter(w=>w.status==="QUEUED");for(let{runId:w,status:k,enqueueSeq:x}of c)s.warn("a worker was lost",{runId:w,status:k,enqueueSeq:x});return await Promise.all(m.map(w=>r.publish(w))),{counts:{lapsed:d.length,resumed:m.length,failing:c.filter(w=>w.status==="FAILING").length,failed:d.length-l.length},next:u}}i(lr,"reanimate");async function _y(t,e){if(t.onWorkerLoss==="resume"&&t.losses+1<e.settings.maxLosses)return[{...t,errorText:"",errorDigest:""}];let r={code:"ghoul_lost",name:"Lost",message:t.onWorkerLoss==="fail"?`the worker of delivery ${t.seq} was lost, and the workflow does not resume`:`the worker of delivery ${t.seq} was lost, and the run has used up its losses (${t.losses+1})`},o=await kt(t,r,e);return o===void 0?[]:[{...t,...o}]}i(_y,"withFailure");var cr=class{static{i(this,"Heartbeat")}#e;#n=new Set;#t;#r;#s;#o;#i;constructor(e,n){this.#e=e,this.#t=n,this.#r=n}start(e){for(let r of e)this.#n.add(r);if(this.#n.size===0)return;let n=Math.max(10,Math.min(this.#e.beatMs,this.#e.leaseMs/10));this.#s=setInterval(()=>this.#a(),n),this.#i=this.#u([...this.#n])}remove(e){this.#n.delete(e),this.#n.size===0&&this.#l()}async stop(){this.#l(),this.#n.clear(),await this.#o,await this.#i}#l(){clearInterval(this.#s),this.#s=void 0}#m(){return{monotonicMs:this.#e.clock.monotonicMs(),wallMs:this.#e.clock.wallMs()}}#a(){let e=this.#m(),{leaseMs:n,beatMs:r,leaseHeld:o}=this.#e;if(!o&&Tu(this.#t,e)>n*.9){this.#_("its own lease could not be extended in time");return}this.#o!==void 0||Tu(this.#r,e)<r||(this.#r=e,this.#o=this.#p(e).finally(()=>{this.#o=void 0}))}async#p(e){let{ledger:n,faults:r,leaseMs:o,log:s}=this.#e,a=[...this.#n];try{await r("worker.before-beat",`${a.length} claims`);let d=await n.deliveries.beatIfClaimed(a.map(c=>c.claim),o/1e3);this.#t=e;let u=a.filter(c=>d.has(`${c.claim.runId}:${c.claim.seq}`));for(let c of a)u.includes(c)||this.#f(c,"the ledger has given it to nobody or to another");let l=this.#i;this.#i=Promise.resolve(l).then(()=>this.#u(u))}catch(d){s.warn("a heartbeat failed",{claims:a.length,error:String(d).slice(0,200)})}}async#u(e){let{queue:n,queueName:r,leaseMs:o,log:s}=this.#e,a=e.filter(d=>this.#n.has(d)).flatMap(d=>d.receiptHandles);if(a.length!==0)try{let d=await n.changeVisibilities(r,a,Math.ceil(o/1e3));d.length>0&&s.warn("the visibility of messages could not be extended",{messages:d.length})}catch(d){s.warn("the visibility of messages could not be extended",{error:String(d).slice(0,200)})}}#_(e){for(let n of this.#n)this.#f(n,e)}#f(e,n){this.#n.delete(e)&&(this.#e.log.warn("a claim is fenced",{runId:e.claim.runId,enqueueSeq:e.claim.seq,why:n}),e.fence(n),this.#n.size===0&&this.#l())}};function Tu(t,e){return Math.max(e.monotonicMs-t.monotonicMs,e.wallMs-t.wallMs)}i(Tu,"since");async function ju(t,e,n){let r=Lu(t,e),o=new Map;for(let d of t){let u=sn(d.body);if(u===void 0)continue;let l=o.get(be(u));l===void 0?o.set(be(u),{...u,receiptHandles:[d.receiptHandle]}):l.receiptHandles.push(d.receiptHandle)}let[s,a]=await Promise.all([yy(o,e,n),r]);return Promise.all(t.map(async d=>{let u=a.get(d.messageId);if(u!==void 0)return u.retryInSeconds!==void 0&&await Mu(d,u.retryInSeconds,e,n),{messageId:d.messageId,done:u.done,reason:u.reason};let l=sn(d.body);if(l===void 0)return e.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:d.messageId,bytes:Buffer.byteLength(d.body)}),{messageId:d.messageId,done:!1,reason:"poison"};let c=s.get(be(l))??{done:!1,reason:"unknown_outcome"};return c.retryInSeconds!==void 0&&await Mu(d,c.retryInSeconds,e,n),{messageId:d.messageId,done:c.done,reason:c.reason}}))}i(ju,"work");async function yy(t,e,n){let r=[...t.values()];if(r.length===0)return new Map;if(e.draining.aborted)return new Map(r.map(u=>[be(u),{done:!1,reason:"draining",retryInSeconds:1}]));let o=new Map,s={monotonicMs:e.clock.monotonicMs(),wallMs:e.clock.wallMs()},a;try{a=await by(r,e,n)}catch(u){e.log.error("a batch could not be claimed; its messages go back",{count:r.length,error:mr(u)});let l={done:!1,reason:"unclaimed",retryInSeconds:hy};return new Map(r.map(c=>[be(c),l]))}for(let[u,l]of await wy(a,t,s,e,n)){let c=xy(u,l,e);c!==void 0&&o.set(be({runId:u.runId,enqueueSeq:u.seq}),c)}let d=r.filter(u=>!o.has(be(u)));for(let[u,l]of await Ey(d,e))o.set(u,l);return o}i(yy,"carryAll");var hy=10;async function wy(t,e,n,r,o){let{limitMs:s,remainingMs:a,endsByForce:d}=o,{leaseMs:u,beatMs:l,leaseHeld:c}=r.settings,m=new cr({...r,leaseMs:u,beatMs:l,leaseHeld:c,queueName:o.queue},n),p=t.map(q=>ky(q,e.get(be({runId:q.runId,enqueueSeq:q.seq}))));m.start(p.map(q=>q.beating));let w=i(()=>p.forEach(q=>q.drain()),"drain");r.draining.addEventListener("abort",w,{once:!0}),r.draining.aborted&&w();let k=[],x=Promise.all(p.map(async q=>{let T={limitMs:s,remainingMs:a,endsByForce:d,claimedAtMs:n.monotonicMs};k.push([q.claim,await qu(q.claim,r,T,{onHop:q.onHop})]),m.remove(q.beating)})),O=await Se(x,a()-r.settings.settleReserveMs/4);return r.draining.removeEventListener("abort",w),await m.stop(),O||r.exit(`${t.length-k.length} steps are in flight at the end of the invocation`),k}i(wy,"carryBatch");function ky(t,e){let n,r,o=i(a=>{r=r==="fence"?r:a,n?.[a]()},"say"),s={claim:t,receiptHandles:e?.receiptHandles??[],fence:i(()=>o("fence"),"fence")};return{claim:t,beating:s,drain:i(()=>o("drain"),"drain"),onHop:i(a=>{n=a,r!==void 0&&a[r]()},"onHop")}}i(ky,"carriedRun");function by(t,e,n){let r=Math.max(1,n.remainingMs()/1e3);return e.ledger.deliveries.claimIfDue(t.map(o=>({...o,token:e.ids.next()})),{worker:e.worker,leaseSeconds:e.settings.leaseMs/1e3,actsForSeconds:n.endsByForce?r+e.settings.actsMarginSeconds:null})}i(by,"claim");function xy(t,e,n){let r=n.logFor(t);switch(e.kind){case"settled":return r[e.code===void 0?"info":"warn"]("run settled",{status:e.status,workflow:t.workflow.name,...e.code===void 0?{}:{code:e.code,fix:"`ghouls show` tells why"}}),{done:!0,reason:e.status};case"handed_over":return r.info("the run goes on in another hop",{why:e.why}),{done:!0,reason:"handed_over"};case"parked":return r.info("the run waits",{status:e.status}),{done:!0,reason:e.status};case"contained":return r.info("a contain delivery has ended",{outcome:e.outcome}),{done:!0,reason:`contain_${e.outcome}`};case"quarantined":return r.error("run quarantined",{reason:e.reason}),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:mr(e.error)}),{done:!1,reason:"unknown_outcome"}}}i(xy,"verdictOf");async function Ey(t,e){if(t.length===0)return[];try{let n=await e.ledger.deliveries.unclaimed(t),r=[...n].filter(([,o])=>o.deliveryStatus==="CLAIMED"&&(o.leaseEndsInSeconds??1)<=0);return r.length>0&&(await lr({...e,pageSize:r.length},{runIds:r.map(([o])=>o.slice(0,o.indexOf(":")))}),n=await e.ledger.deliveries.unclaimed(t)),t.map(o=>{let s=Wr(n.get(be(o))),{runId:a,enqueueSeq:d}=o;return e.log.info("a delivery was skipped",{runId:a,enqueueSeq:d,reason:s.reason}),[be(o),s.deleteMessage?{done:!0,reason:s.reason}:{done:!1,reason:s.reason,retryInSeconds:s.retryInSeconds}]})}catch(n){return e.log.error("skipped deliveries could not be read; their messages go back",{error:mr(n)}),[]}}i(Ey,"explain");async function Mu(t,e,n,r){try{await n.queue.changeVisibility(r.queue,t.receiptHandle,e)}catch(o){n.log.warn("a message's visibility could not be changed",{messageId:t.messageId,error:mr(o)})}}i(Mu,"putBack");function be(t){return`${t.runId}:${t.enqueueSeq}`}i(be,"keyOf");function mr(t){let{name:e,message:n}=S(t);return`${e}: ${n}`.slice(0,300)}i(mr,"nameOf");function pr({micros:t,id:e}){return Buffer.from(`${t} ${e}`).toString("base64url")}i(pr,"cursorOf");function fr(t){let[e="",n=""]=Buffer.from(t,"base64url").toString().split(" ");if(!/^\d{1,18}$/.test(e)||!F(n))throw new y("invalid_request","the cursor is none of ours",{fix:"Take nextCursor of the page before, or none for the first page."});return{micros:e,id:n}}i(fr,"positionOf");async function zu(t,e,n,r){if(!ku(e))throw gr();let o=tr(t,t?.callbackDigest,e);if(t===null||!o||t.callbackExpired)throw gr();return Qt(()=>Iy(t,e,n,r))}i(zu,"takeReport");async function Iy(t,e,n,r){let{answer:o,outcome:s}=await wt(t,n,r.codec);if(o.state==="unknown")throw await Sy(t,o.why,r),new y("invalid_request",o.why,{fix:"Report a result that JSON can give back unchanged."});let a,d,u=await r.ledger.attempts.change(t,l=>{if(a=d=void 0,!tr(l,l.callbackDigest,e)||l.callbackExpired?a=gr():l.closedAt!==null&&([a,d]=[Dy(l.status),l]),a===void 0)return Ay(l,o,s)},r.settings);if(d!==void 0&&await Bo(d,o,s,r),a!==void 0)throw a;if(u===null)throw gr();return await De(t,u,r),u.status}i(Iy,"record");async function Sy(t,e,n){let r=await n.ledger.attempts.change(t,o=>o.token!==t.token||o.closedAt!==null||o.status==="UNCERTAIN"?void 0:{status:"UNCERTAIN",why:`it reported what cannot be kept: ${e}`,by:"callback",acknowledged:!0,missed:!1,nextLookSeconds:ke(o,"UNCERTAIN")},n.settings);await De(t,r,n)}i(Sy,"keepUnreadable");function Ay(t,e,n){let r=e.state==="accepted"||e.state==="running",o=Fe(t);if(r&&o.demand==="no")return vy(t);let s=Be(o,e),a=s.kind==="move"&&!r;if(e.state==="cancelled"&&s.kind==="keep")return Cy(t,s.why);let d=Ko(t,s,e,{outcome:n,by:"callback",usesCallback:a});return a?d:{...d,nextLookSeconds:ke(t,d.status)}}i(Ay,"changeByReport");function Cy(t,e){let n=t.traits.lookup==="none"?"UNCERTAIN":t.status,r=ke({...t,looks:0},"UNCERTAIN");return{status:n,why:e,by:"callback",acknowledged:!0,missed:!1,nextLookSeconds:r}}i(Cy,"cancelledEarly");function vy({status:t}){return{status:t,by:"callback",acknowledged:!0,missed:!1,onlyAlive:!0,nextLookSeconds:0}}i(vy,"aliveStill");function gr(){return new y("unauthenticated","the callback carries no token of this attempt, or the token's time is over",{fix:"Send the token that came with the submission, in the header Ghouls-Callback-Token."})}i(gr,"notAuthentic");function Dy(t){return new y("attempt_settled",`the attempt is ${t} already`,{fix:"Nothing is to be done: a report is taken once."})}i(Dy,"settled");var Fu={publisherGraceSeconds:15};function Uu(t){let{ledger:e,codec:n,publisher:r,faults:o,log:s}=t,a={ledger:e,codec:n,publisher:{publish:i(d=>je(r,d),"publish")},log:s,settings:Fu};return{get:i(async(d,u)=>{if(!F(u))return;let l=await e.attempts.get({tenantId:d,attemptId:u});return l===null?void 0:Qt(()=>Oy(l,n))},"get"),list:i(async(d,u,l)=>{let{attempts:c,next:m}=await e.attempts.page(d,u,{limit:l.limit,...l.cursor===void 0?{}:{after:fr(l.cursor)}});return{attempts:c.map(Wu),nextCursor:m===void 0?null:pr(m)}},"list"),report:i(async(d,u,l)=>{let c=F(d)?await e.attempts.forCallback(d):null,m=await zu(c,u,l,a);return await o("callbacks.after-commit",d),{attemptId:d,status:m}},"report"),resolve:i((d,u,l)=>Qt(async()=>{let{tenantId:c,subject:m}=d,p=F(u)?await e.attempts.get({tenantId:c,attemptId:u}):null;if(p===null)throw Ry();let{answer:w,outcome:k}=await wt(p,Ny(l),n);if(w.state==="unknown")throw new y("invalid_request",w.why,{fix:"Give a result that JSON can hold."});let x=`operator ${m}`,O=p,q=await e.attempts.change(p,T=>(O=T,T.status!=="UNCERTAIN"||!T.late?void 0:{status:Gu[l.outcome],by:x,acknowledged:!1,missed:!1,nextLookSeconds:0,...k&&{report:k.report}}),Fu,{actor:m,reason:l.reason});if(q===null){let{status:T,closedBy:ae,runId:We}=O;if(T==="UNCERTAIN")throw Qo();if(ae===x&&T===Gu[l.outcome]&&await sr(O,n)===k?.canonical)return{attemptId:u,runId:We,status:T,resumed:!1};throw new y("attempt_settled",`the attempt is ${T}: only one that is UNCERTAIN can be settled by a word`,{fix:"GET /v1/attempts/<id> has its state; cancel its run to have the job cancelled."})}return await De(p,q,a),{attemptId:u,runId:p.runId,status:q.status,resumed:q.resumption!==null}}),"resolve")}}i(Uu,"createAttempts");function Qo(){return new y("attempt_under_way","a worker may still be sending the job to its service",{fix:"Wait, ask the service again after that, and then say how the job has ended."})}i(Qo,"underWay");var Gu={succeeded:"SUCCEEDED",failed:"FAILED",cancelled:"CANCELLED"};function Ny(t){switch(t.outcome){case"succeeded":return{state:"succeeded",result:t.result??null};case"failed":return{state:"failed",error:t.error??{code:"operator",message:t.reason}};case"cancelled":return{state:"cancelled"}}}i(Ny,"answerOf");function Wu(t){let e=i(n=>n?.toISOString()??null,"iso");return{attemptId:t.attemptId,runId:t.runId,workflow:t.workflow,name:t.name,status:t.status,service:t.service,executor:{adapter:t.adapter,version:t.adapterVersion,digest:t.serviceDigest},digest:t.requestDigest,idempotencyKey:t.idempotencyKey,submissions:t.submissions,uncertain:t.uncertainReason,trouble:t.trouble===null?null:{why:t.trouble.why,at:t.trouble.at.toISOString()},cancelling:t.cancelReason,contradiction:t.contradiction,createdAt:t.createdAt.toISOString(),acknowledgedAt:e(t.acknowledgedAt),heartbeatAt:e(t.heartbeatAt),deadlineAt:e(t.deadlineAt),nextLookAt:e(t.nextLookAt),closedAt:e(t.closedAt),closedBy:t.closedBy}}i(Wu,"summaryOf");async function Oy(t,e){let{tenantId:n,runId:r,requestText:o,storedDigest:s}=t,a=await ie(o,s,"a job",l=>e.decode(l,{tenantId:n,runId:r,kind:"job"})),d=await sr(t,e),u=d===void 0?null:JSON.parse(d);return{...Wu(t),request:JSON.parse(a),result:t.status==="SUCCEEDED"?u:null,error:t.status==="FAILED"?u:null}}i(Oy,"viewOf");function Ry(){return new y("not_found","there is no such attempt",{fix:"GET /v1/attempts lists those that this token may see."})}i(Ry,"absent");function Bu({ledger:t,codec:e,publisher:n,faults:r}){let o=i(async a=>{let[d,u]=await Promise.all([Py(a,e),t.consents.decisions(a)]);return{...Ku(a),detail:d.detail,decisions:await Ly(a,u,e)}},"viewOf"),s=i(async a=>{let d=await t.consents.decisions(a);return{...Ku(a),decisions:d.map(({by:u,verdict:l,at:c})=>({by:u,verdict:l,at:c.toISOString()})),problem:a.intact?null:`its ${Hu}`}},"summaryOf");return{get:i(async(a,d)=>{if(!F(d))return;let u=await t.consents.get({tenantId:a,consentId:d});return u===null?void 0:o(u)},"get"),list:i(async(a,d,u)=>{let{consents:l,next:c}=await t.consents.page(a,d,{limit:u.limit,...u.cursor===void 0?{}:{after:fr(u.cursor)}});return{consents:await Promise.all(l.map(s)),nextCursor:c===void 0?null:pr(c)}},"list"),decide:i(async(a,d,u)=>{let l=F(d)?await $y({ledger:t,codec:e},a,d,u):null;if(l===null)throw Ty();await r("consents.after-commit",d);let{judgement:c,consent:m,resumption:p}=l;return p!==null&&await je(n,p),qy(c,m),{consentId:d,runId:m.runId,status:m.status,repeated:c.kind==="repeated",resumed:p!==null}},"decide")}}i(Bu,"createConsents");async function $y({ledger:t,codec:e},n,r,{verdict:o,digest:s,comment:a}){let{tenantId:d,subject:u,roles:l}=n,c=await t.consents.get({tenantId:d,consentId:r});if(c===null)return null;let m=a===void 0?null:await e.encode(a,{tenantId:d,runId:c.runId,kind:"comment"});return t.consents.decide({tenantId:d,consentId:r},{subject:u,roles:l,verdict:o,digest:s,commentText:m,commentDigest:m===null?null:v(m)},{publisherGraceSeconds:15})}i($y,"decide");function qy(t,e){switch(t.kind){case"counts":case"repeated":return;case"not_a_decider":throw new y("not_a_decider","this consent is for others to decide",{fix:`It is decided by ${e.deciders.join(", ")}.`});case"requester":throw new y("not_a_decider","whoever asked for the run may not decide its consent",{fix:"Let another decider decide, or set requesterMayDecide in the workflow."});case"changed":throw new y("consent_changed","the decision names another request than the one that is open",{fix:`Show the consent again; its digest is ${e.requestDigest}.`});case"contradicts":throw new y("consent_closed",`you have said "${t.verdict}" before, and a word stands`,{fix:"Cancel the run, or let the other deciders decide."});case"expired":throw new y("consent_closed",`the consent's time is over: it is ${e.status}`,{fix:"Ask for the run again."});case"closed":throw new y("consent_closed",`the consent is ${t.status} already, by ${t.by}`,{fix:"GET /v1/consents/<id> has all decisions."})}}i(qy,"refuseWhatDidNotCount");var Hu="request disagrees with its digest";async function Py(t,e){let{tenantId:n,runId:r,requestText:o,storedDigest:s}=t;if(v(o)!==s)throw new y("integrity_fault",`of consent ${t.consentId} the ${Hu}`);let a=await e.decode(o,{tenantId:n,runId:r,kind:"consent"});return JSON.parse(a)}i(Py,"requestOf");async function Ly({tenantId:t,runId:e},n,r){return Promise.all(n.map(async({by:o,verdict:s,at:a,commentText:d})=>({by:o,verdict:s,at:a.toISOString(),comment:d===null?null:await r.decode(d,{tenantId:t,runId:e,kind:"comment"})})))}i(Ly,"decodedDecisions");function Ku(t){return{consentId:t.consentId,runId:t.runId,workflow:t.workflow,title:t.title,status:t.status,digest:t.requestDigest,deciders:[...t.deciders],quorum:t.quorum,requestedBy:t.requestedBy,requesterMayDecide:t.requesterMayDecide,onExpiry:t.onExpiry,source:t.source,createdAt:t.createdAt.toISOString(),expiresAt:t.expiresAt?.toISOString()??null,closedAt:t.closedAt?.toISOString()??null,closedBy:t.closedBy}}i(Ku,"shownOf");function Ju(t){return P("consent").includes(t)}i(Ju,"isConsentStatus");function Ty(){return new y("not_found","there is no such consent",{fix:"GET /v1/consents lists those that this token may see."})}i(Ty,"absent");function Yo(t){return t.kind==="worker"?`worker-${t.key}`:`${t.kind}-${v(t.key).slice(0,12)}`}i(Yo,"itemId");function Vu(t){return{id:Yo(t),kind:t.kind,subject:t.kind==="worker"||t.kind==="child"?t.worker:My(t.key),enqueueSeq:t.seq,overAt:t.overAt?.toISOString()??null,createdAt:t.createdAt.toISOString(),acknowledgedAt:t.acknowledgedAt?.toISOString()??null,acknowledgedBy:t.acknowledgedBy,acknowledgement:t.acknowledgement}}i(Vu,"itemView");function My(t){let[,,,e]=JSON.parse(t);return e}i(My,"callOf");function Qu({ledger:t,publisher:e,settings:n}){let r=i(async(o,s)=>(await t.items.ofRun(o)).find(a=>a.acknowledgedAt===null&&Yo(a)===s),"openItem");return{cancel:i(async(o,s,a)=>{if(!F(s))throw Ue();let d={tenantId:o.tenantId,runId:s},u=await t.runs.cancel(d,{actor:o.subject,reason:a},n.actsMarginSeconds);if(u===null)throw Ue();return{runId:s,cancelled:u.cancelled,status:u.status}},"cancel"),clear:i(async(o,s,a)=>{if(!F(s))throw Ue();let d=await t.runs.clearQuarantine({tenantId:o.tenantId,runId:s},{actor:o.subject,reason:a},15);if(d===null)throw Ue();return d.resumption!==null&&await e.publish(d.resumption),{runId:s,cleared:d.cleared,status:d.status}},"clear"),resolve:i(async(o,s,a,d)=>{if(!F(s))throw Ue();let u={tenantId:o.tenantId,runId:s},l=await r(u,a);if(l===void 0)throw Ue();let{kind:c,key:m}=l;if(c==="child")throw jy(m);let p=await t.items.acknowledge(u,{kind:c,key:m,by:"operator",words:d},{actor:o.subject,reason:d});if(p===null)throw c==="attempt"&&await r(u,a)!==void 0?Qo():Ue();let w=p.ended??(await t.runs.get(u))?.status;if(w===void 0)throw Ue();return{runId:s,item:a,openItems:p.openItems,status:w}},"resolve")}}i(Qu,"createControl");function jy(t){return new y("child_open",`child ${t} has not ended, and no word can say that it has`,{fix:`Cancel it, or settle its own items: \`ghouls show ${t}\` lists them.`})}i(jy,"childOpen");function Ue(){return new y("not_found","there is no such run, or no such open item of it",{fix:"Check the ids: `ghouls show <run id>` lists the items of a run."})}i(Ue,"absent");var zy="0".repeat(64);function Yu({ledger:t,log:e}){return async n=>{let r=br(n);if(r===void 0)return;let o=await t.keys.byId(r.keyId),s=Ke(r.digest,o?.digest??zy);if(o===null||!s||o.expired||o.revokedAt!==null)return;o.useIsDue&&await Fy(o,t,e);let{tenantId:a,subject:d,roles:u,permissions:l}=o;return{tenantId:a,subject:d,roles:u,permissions:l.filter(Rr)}}}i(Yu,"createKeyAuthenticator");async function Fy(t,e,n){try{await e.keys.markUsed(t)}catch(r){n.warn("the use of a key could not be recorded",{keyId:t.keyId,name:S(r).name})}}i(Fy,"markUsed");function Xu(t){let{ledger:e,codec:n}=t;return{getRun:i(async(r,o)=>{if(!F(o))return;let s=await e.runs.get({tenantId:r,runId:o});if(s===null)return;let a={tenantId:r,runId:o},[d,u]=await Promise.all([e.items.ofRun(a),e.arms.openOfRun(a)]);return Gy(s,d,u,n)},"getRun"),listRuns:i(async(r,o,s)=>{let{runs:a,nextCursor:d}=await e.runs.page(r,o,s);return{runs:a.map(Zu),nextCursor:d}},"listRuns"),getTimeline:i(async(r,o)=>{if(!F(o))return;let s={tenantId:r,runId:o},a=await e.runs.get(s);if(a===null)return;let[d,u]=await Promise.all([e.deliveries.ofRun(s),e.journal.read(s)]);return{runId:o,status:a.status,entries:Uy(a,d,u)}},"getTimeline")}}i(Xu,"createReads");var bt=i(t=>t?.toISOString()??null,"iso");function Zu(t){let e=i(n=>n===null?null:{reason:n.reason,at:n.at.toISOString()},"flag");return{runId:t.runId,parentRunId:t.parentRunId,workflow:t.workflow,status:t.status,queue:t.queue,priority:t.priority,agent:t.agent,idempotencyKey:t.idempotencyKey,requestedBy:t.requestedBy,enqueueSeq:t.enqueueSeq,steps:t.journalLength,errorCode:t.errorCode,attention:e(t.attention),quarantine:e(t.quarantine),pausedAt:bt(t.pausedAt),deadlineAt:bt(t.deadlineAt),createdAt:t.createdAt.toISOString(),startsAt:bt(t.startsAt),startedAt:bt(t.startedAt),finishedAt:bt(t.finishedAt)}}i(Zu,"summaryOf");async function Gy(t,e,n,r){let{tenantId:o,runId:s}=t,a=i(async(d,u)=>d===null?null:JSON.parse(await r.decode(d,{tenantId:o,runId:s,kind:u})),"read");return{...Zu(t),waits:n.map(({call:{kind:d,name:u,scope:l},dueAt:c,consentId:m,attemptId:p,childRunId:w})=>({kind:d,name:u,scope:l,dueAt:bt(c),consentId:m,attemptId:p,childRunId:w})),input:await a(t.inputText,"input"),output:await a(t.outputText,"output"),error:await a(t.errorText,"error"),containment:e.map(Vu)}}i(Gy,"viewOf");function Uy(t,e,n){let r=[{kind:"admitted",at:t.createdAt.toISOString()}];for(let s of e)r.push(...Ky(s));for(let s of n)r.push({kind:"step",at:s.completedAt.toISOString(),enqueueSeq:s.seq,ordinal:s.ordinal,call:s.kind,name:s.name,scope:s.scope,nth:s.nth,outcome:s.outcome,tries:s.tries,startedAt:s.startedAt.toISOString()});t.finishedAt!==null&&r.push({kind:"finished",at:t.finishedAt.toISOString(),status:t.status,errorCode:t.errorCode});let o=i(s=>Wy.indexOf(s.kind),"rank");return r.toSorted((s,a)=>s.at===a.at?o(s)-o(a):s.at<a.at?-1:1)}i(Uy,"timelineOf");var Wy=["admitted","delivery","published","claimed","step","worker_ended","fenced","settled","finished"];function Ky(t){let{seq:e,cause:n,status:r,publications:o}=t,s=[{kind:"delivery",at:t.createdAt.toISOString(),enqueueSeq:e,cause:n,status:r,dueAt:t.dueAt.toISOString()}];t.publishedAt!==null&&s.push({kind:"published",at:t.publishedAt.toISOString(),enqueueSeq:e,publications:o});let a=t.claimedBy??"unknown";if(t.claimedAt!==null&&s.push({kind:"claimed",at:t.claimedAt.toISOString(),enqueueSeq:e,worker:a}),t.workerEndedAt!==null){let d=t.workerEnd??"unknown";s.push({kind:"worker_ended",at:t.workerEndedAt.toISOString(),enqueueSeq:e,worker:a,how:d})}return t.settledAt!==null&&t.outcome!==null&&s.push({kind:"settled",at:t.settledAt.toISOString(),enqueueSeq:e,outcome:t.outcome}),t.fencedAt!==null&&s.push({kind:"fenced",at:t.fencedAt.toISOString(),enqueueSeq:e}),s}i(Ky,"ofDelivery");async function el(t,e){let{ledger:n,publisher:r,faults:o,log:s,settings:a}=t,{found:d,next:u}=await n.children.ends(t.pageSize,e);d.length>0&&await o("children.after-select",`${d.length} ends`);let[l,c,m]=[0,0,0];for(let p of d){let{runId:w,parentRunId:k}=p;try{let x=await n.children.tellParent(p,a.publisherGraceSeconds);if(await o("children.after-tell",w),x.ended!==null&&(c+=1),x.resumption===null)continue;l+=1,s.info("a run was brought back by the end of its child",{runId:k,childRunId:w}),await r.publish(x.resumption)}catch(x){m+=1,s.warn("the end of a child could not be told",{runId:w,error:String(x).slice(0,200)})}}return{counts:{due:d.length,resumed:l,ended:c,failed:m},next:u}}i(el,"tellParents");async function tl(t,e){let{ledger:n,faults:r,log:o}=t,{found:s,next:a}=await n.items.due(t.pageSize,e);s.length>0&&await r("containment.after-select",`${s.length} runs`);let[d,u]=[0,0];for(let l of s)try{let c=await n.items.contain(l,t.settings.maxContainDeliveries);await r("containment.after-look",l.runId),c.ended!==null?(d+=1,o.info("a run has ended, and nothing of it can act any more",{runId:l.runId,status:c.ended})):c.needsWord&&await n.runs.raiseAttention(l,"containment: something of the run waits for a word"),c.children&&await By(l,t)}catch(c){u+=1,o.warn("a run's items could not be looked at",{runId:l.runId,error:String(c).slice(0,200)})}return{counts:{due:s.length,ended:d,failed:u},next:a}}i(tl,"contain");async function By(t,{ledger:e,faults:n,settings:r}){let o={actor:`run ${t.runId}`,reason:"its parent goes on without it"};for(let s of await e.children.toCancel(t))await e.children.cancel(s,o,r.actsMarginSeconds),await n("containment.after-cancel",s.runId)}i(By,"cancelChildren");function Hy(t){return Math.min(3600,30*2**Math.min(t,10))}i(Hy,"nextLookSeconds");async function nl(t,e){let{ledger:n,faults:r,log:o}=t,{found:s,next:a}=await n.consents.toLookUp(t.pageSize,e);s.length>0&&await r("consents.after-select",`${s.length} due`);let d=await Promise.all(s.map(async l=>{try{return await n.consents.postponeLookUp(l,Hy(l.looks)),await Jy(l,t)}catch(c){return o.warn("a decision source could not be asked",{runId:l.runId,source:l.source,error:S(c).message.slice(0,200)}),"failed"}})),u=i(l=>d.filter(c=>c===l).length,"count");return{counts:{due:s.length,decided:u("decided"),failed:u("failed")},next:a}}i(nl,"lookUpConsents");async function Jy(t,e){let{ledger:n,publisher:r,codec:o,faults:s,log:a,settings:d}=e,u=t.source??"",l=Object.hasOwn(e.decisionSources,u)?e.decisionSources[u]:void 0;if(l===void 0)throw new Error(`the configuration has no decision source "${u}"`);let{tenantId:c,runId:m,consentId:p,title:w,requestText:k,requestDigest:x}=t,O=JSON.parse(await o.decode(k,{tenantId:c,runId:m,kind:"consent"})),q=new AbortController,T=zr(await Ae(l.lookUp({tenantId:c,runId:m,consentId:p,title:w,digest:x,detail:O.detail},q.signal),d.ownerDeadlineMs).finally(()=>q.abort()));if(await s("consents.after-look",p),T.outcome==="pending")return"pending";let ae=T.comment??null,We=ae===null?null:await o.encode(ae,{tenantId:c,runId:m,kind:"comment"}),Ne=await n.consents.decide({tenantId:c,consentId:p},{subject:`source:${u}/${T.by}`.slice(0,300),roles:[],verdict:T.outcome,digest:x,commentText:We,commentDigest:We===null?null:v(We)},{publisherGraceSeconds:d.publisherGraceSeconds,asSource:!0});if(Ne===null)return"pending";Ne.resumption!==null&&await r.publish(Ne.resumption);let{outcome:Zt}=T;if(Ne.judgement.kind!=="counts"){let{status:yr}=Ne.consent;return a.info("a decision source was late",{runId:m,source:u,outcome:Zt,status:yr}),"late"}return a.info("a decision source has decided a consent",{runId:m,source:u,outcome:Zt}),"decided"}i(Jy,"lookUp");async function ol(t,e){let{ledger:n,faults:r,pageSize:o}=t,{found:s,next:a}=await n.attempts.due(o,e);s.length>0&&await r("delegates.after-select",`${s.length} due`);let d=await Promise.all(s.map(c=>Vy(c,t))),u=i(c=>d.filter(m=>m===c).length,"count"),l={submitted:u("submitted"),ended:u("ended"),failed:u("failed")};return{counts:{due:s.length,...l},next:a}}i(ol,"lookAfterJobs");async function Vy(t,e){let{runId:n,attemptId:r,service:o}=t,{clock:s,settings:a}=e,d=s.monotonicMs()+a.ownerDeadlineMs;try{let u=await Qy(t,{...e,withinMs:i(()=>d-s.monotonicMs(),"withinMs")});return await e.faults("delegates.after-look",r),u}catch(u){let l=S(u).message.slice(0,300);return e.log.warn("a job could not be looked after",{runId:n,attemptId:r,service:o,error:l}),Su(u)&&await eh(t,l,e),"failed"}}i(Vy,"lookAt");async function Qy(t,e){let n=t.heartLapsed?await Yy(t,e):t;if(n===void 0)return"open";switch(xr(Fe(n))){case"drop":return Zo(await ei(n,{state:"cancelled"},e));case"submit":return await il(n,e)?"submitted":"open";case"wait":return Zo(await Xy(n,e));case"lookUp":return rl(n,await Xo("lookUp",n,e),e);case"cancel":return rl(n,await Zy(n,e),e)}}i(Qy,"act");async function Yy(t,e){let n=`it has said nothing for more than ${t.heartbeatSeconds} s`,r=await e.ledger.attempts.change(t,o=>o.status===t.status&&o.token===t.token&&o.heartLapsed?{status:"UNCERTAIN",why:n,by:"time",acknowledged:!1,missed:!1,nextLookSeconds:ke(o,"UNCERTAIN")}:void 0,e.settings);return await De(t,r,e),r===null?void 0:{...t,status:"UNCERTAIN",uncertainReason:n,looks:0,misses:0,heartLapsed:!1}}i(Yy,"withoutHeartbeat");async function Xy(t,e){let{status:n,demand:r}=Fe(t),o=n==="SUBMITTED"||n==="RUNNING";return n==="DEFINED"||t.unsent||o&&r!=="no"?e.ledger.attempts.change(t,s=>s.status===n&&s.token===t.token?{status:n,by:"time",acknowledged:!1,missed:!1,nextLookSeconds:ke(s,n)}:void 0,e.settings):ei(t,{state:"unknown",why:"its service can be asked neither about a job nor to cancel one"},e)}i(Xy,"waitOn");async function Zy(t,e){let n=t.overdue&&t.armOpen?"deadline":"ended";if(!await e.ledger.attempts.askToCancel(t,n))return;let r=await Xo("cancel",t,e);if(["cancelled","succeeded","failed"].includes(r.state)||t.traits.lookup==="none")return r;let s=await Xo("lookUp",t,e);return s.state==="unknown"?r:s}i(Zy,"cancel");async function rl(t,e,n){if(e===void 0)return"open";if(Be(Fe(t),e).kind==="resubmit")return await il(t,n)?"submitted":"open";let r=Zo(await ei(t,e,n));return e.state==="unknown"?"failed":r}i(rl,"settle");async function il(t,e){return await ar(t,e,e.remainingMs,e.withinMs)!==null}i(il,"submit");function ei(t,e,n){return ir(t,e,{late:t.late||t.status==="DEFINED"||t.unsent},n)}i(ei,"record");async function Xo(t,e,n){let{tenantId:r,runId:o,attemptId:s,idempotencyKey:a}=e,d={tenantId:r,runId:o,attemptId:s,idempotencyKey:a},u=Ho(e,n.delegation),{answer:l}=await Jo(u,e.service,{kind:t,job:d},n.withinMs(),n);return l}i(Xo,"question");function Zo(t){return t!==null&&["SUCCEEDED","FAILED","CANCELLED"].includes(t.status)?"ended":"open"}i(Zo,"ended");async function eh(t,e,n){let{ledger:r,settings:o,log:s}=n,{status:a,token:d}=t,u=t.misses+1<3,c=a!=="DEFINED"&&(a!=="SUBMITTING"||t.late)&&!u?"UNCERTAIN":a;try{let m=await r.attempts.change(t,p=>p.status===a&&p.token===d?{status:c,why:e,by:"time",acknowledged:!1,missed:!0,nextLookSeconds:u?th:ke(p,c),...u?{}:{attention:e}}:void 0,o);await De(t,m,n)}catch(m){s.warn("a person could not be asked for",{runId:t.runId,error:S(m).message})}}i(eh,"askForAPerson");var th=30;async function sl(t,e){let{ledger:n,faults:r,log:o,settings:s}=t,{found:a,next:d}=await n.runs.overdue(t.pageSize,e);a.length>0&&await r("deadlines.after-select",`${a.length} overdue`);let[u,l]=[0,0];for(let c of a){let m={code:"deadline",name:"Deadline",message:`the run's deadline ${c.deadlineAt.toISOString()} has passed while it was ${c.status}`};try{let p=await kt(c,m,t);if(p===void 0){l+=1;continue}let w=await n.runs.failOverdue({...c,...p},s.actsMarginSeconds);if(await r("deadlines.after-failure",c.runId),w===null)continue;u+=1,o.warn("a run's deadline has passed",{runId:c.runId,status:w})}catch(p){l+=1,o.warn("an overdue run could not be ended",{runId:c.runId,error:String(p).slice(0,200)})}}return{counts:{overdue:a.length,ended:u,failed:l},next:d}}i(sl,"endOverdue");async function al(t,e){let{ledger:n,faults:r,log:o}=t,{found:s,next:a}=await n.deliveries.expiredHolds(t.pageSize,e);if(s.length===0)return{counts:{expired:0,ended:0,failed:0},next:void 0};await r("holds.after-select",`${s.length} expired`);let d=(await Promise.all(s.map(c=>nh(c,t)))).flat(),u=await n.deliveries.expireHolds(d);await r("holds.after-expiry",`${u.length} ended`);for(let{runId:c,status:m}of u)o.info("a held run was not released in time",{runId:c,status:m});let l=s.length-d.length;return{counts:{expired:s.length,ended:u.length,failed:l},next:a}}i(al,"expireHolds");async function nh(t,e){let n={code:"hold_expired",name:"Expired",message:`the run was held until ${t.expiredAt.toISOString()}, and nobody released it`},r=await kt(t,n,e);return r===void 0?[]:[{...t,...r}]}i(nh,"withFailure");async function dl(t){let{ledger:e,queue:n,faults:r,log:o}=t,s=await e.deliveries.duePublications(t.pageSize);if(s.length===0)return{due:0,published:0,failed:0};await r("relay.after-select",`${s.length} due`);let{confirmed:a,failed:d}=await n.publish(s);await r("relay.after-publish",`${a.length} confirmed`),await e.deliveries.markPublished(a),await e.deliveries.markPublicationFailed(d);for(let{publication:l,reason:c}of d)o.warn("the relay could not publish a delivery",{runId:l.runId,reason:c});let u=new Set(a.map(l=>`${l.runId}:${l.enqueueSeq}`));for(let l of s)l.publications+1<Tr||!u.has(`${l.runId}:${l.enqueueSeq}`)||await e.runs.raiseAttention(l,"unclaimed: published again and again, and claimed by no worker");return{due:s.length,published:a.length,failed:d.length}}i(dl,"relay");async function ul(t,e){let{ledger:n,publisher:r,faults:o,log:s,settings:a}=t,{found:d,next:u}=await n.arms.due(t.pageSize,e);d.length>0&&await o("timers.after-select",`${d.length} due`);let[l,c]=[0,0];for(let{tenantId:m,runId:p,armId:w,lateSeconds:k}of d)try{let x=await n.runs.resumeDue({tenantId:m,runId:p},a.publisherGraceSeconds);if(await o("timers.after-resume",p),x===null)continue;l+=1,s.info("a run was brought back by its timer",{runId:p,armId:w,lateSeconds:Math.round(k)}),await r.publish(x)}catch(x){c+=1,s.warn("a run could not be brought back",{runId:p,error:String(x).slice(0,200)})}return{counts:{due:d.length,resumed:l,failed:c},next:u}}i(ul,"wakeDue");async function xe(t,e,n,r){let o=e.remainingMs()/2,s={...n},a=0,d;try{for(;e.remainingMs()>Math.max(e.pageBudgetMs,s.failed>0?o:0);){let{counts:u,next:l}=await r(d);if(a+=1,s=rh(s,u),l===void 0)break;d=l}return{...s,pages:a}}catch(u){return e.log.error("a pass was interrupted",{pass:t,error:String(u).slice(0,300)}),{...s,pages:a,error:u instanceof Error?u.name:"error"}}}i(xe,"pass");function rh(t,e){let n=Object.keys(t);return Object.fromEntries(n.map(r=>[r,t[r]+e[r]]))}i(rh,"sum");var oh=2e3;async function _r(t){let e=Math.max(t.pageBudgetMs,t.settings.ownerDeadlineMs+oh),n={...t,pageBudgetMs:e};return{reanimation:await xe("reanimation",t,{lapsed:0,resumed:0,failing:0,failed:0},r=>lr(t,{after:r})),holds:await xe("holds",t,{expired:0,ended:0,failed:0},r=>al(t,r)),deadlines:await xe("deadlines",t,{overdue:0,ended:0,failed:0},r=>sl(t,r)),timers:await xe("timers",t,{due:0,resumed:0,failed:0},r=>ul(t,r)),consents:await xe("consents",n,{due:0,decided:0,failed:0},r=>nl(t,r)),delegates:await xe("delegates",n,{due:0,submitted:0,ended:0,failed:0},r=>ol(t,r)),containment:await xe("containment",t,{due:0,ended:0,failed:0},r=>tl(t,r)),children:await xe("children",t,{due:0,resumed:0,ended:0,failed:0},r=>el(t,r)),relay:await xe("relay",t,{due:0,published:0,failed:0},async()=>{let r=await dl(t);return{counts:r,next:r.published>0&&r.due>=t.pageSize?!0:void 0}})}}i(_r,"reconcile");var ih=3e4;function ll(t){let{hint:e,clock:n,log:r,patienceMs:o=1e3}=t,s,a,d=i(()=>{if(s===void 0)return!1;let l=n.wallMs()-s.wallMs;return l>=0&&Math.max(l,n.monotonicMs()-s.monotonicMs)<ih},"remembered"),u=i(async()=>{let l={monotonicMs:n.monotonicMs(),wallMs:n.wallMs()};try{await Ae(e.lower(l.wallMs,l.wallMs),o),s=l}catch(c){r.warn("the reconciler's hint could not be lowered; its hourly look stands in for it",{error:String(c).slice(0,200)})}finally{a=void 0}},"lower");return()=>d()?Promise.resolve():a??=u()}i(ll,"createLowering");function cl(t,e){return t===void 0||t.dueAtMs<=e||pl(t,e)?{connect:!0}:t.dueAtMs>e+36e5?{connect:!0}:{connect:!1,untilMs:t.dueAtMs}}i(cl,"wakeOf");function ml(t,e,n){if(t!==void 0&&pl(t,e))return;let r=n.atMs+36e5;if(n.dueInSeconds===null)return r;if(!(n.dueInSeconds<=120))return Math.min(r,n.atMs+Math.floor(n.dueInSeconds*1e3))}i(ml,"raisedTo");function pl({openedAtMs:t},e){return t!==void 0&&e-t<12e4}i(pl,"mayBeCommitting");async function fl(t){let{clock:e,hint:n,log:r,hintPatienceMs:o=1500}=t,s=e.wallMs(),a;try{a={state:await Ae(n.read(),o)}}catch(l){r.warn("the hint could not be read: the ledger is looked at",{error:String(l).slice(0,200)})}let d=cl(a?.state,s);if(!d.connect)return{skipped:!0,until:new Date(d.untilMs).toISOString()};let u=await _r(t);return n.keeps&&a!==void 0&&ah(u)&&await sh(t,a.state,s),u}i(fl,"reconcileWhenDue");async function sh({ledger:t,hint:e,clock:n,log:r,hintPatienceMs:o=1500},s,a){try{let d=n.wallMs(),u=ml(s,a,{atMs:d,dueInSeconds:await t.nextLook()});if(u===void 0)return;await Ae(e.raise(s?.version,d,u),o)}catch(d){r.warn("the hint could not be raised",{error:String(d).slice(0,200)})}}i(sh,"raise");function ah(t){return Object.values(t).every(e=>e.error===void 0&&e.pages>0&&(e.failed??0)===0)}i(ah,"isWhole");function _l({ledger:t,codec:e,ids:n,publisher:r,faults:o}){return{send:i(async(s,a,d)=>{if(!F(a))throw gl();let{tenantId:u,subject:l}=s,{name:c,payloadText:m,idempotencyKey:p}=d,w=m===void 0?null:await e.encode(m,{tenantId:u,runId:a,kind:"signal"}),k=await t.signals.keep({tenantId:u,runId:a,signalId:n.next(),name:c,idempotencyKey:p??null,requestDigest:await me(e,`${JSON.stringify(c)} ${m??""}`),payloadText:w,payloadDigest:w===null?null:v(w),sentBy:l},{publisherGraceSeconds:15});if(k===null)throw gl();switch(await o("signals.after-commit",a),k.kind){case"kept":return k.resumption!==null&&await je(r,k.resumption),{runId:a,signalId:k.signalId,repeated:k.repeated,resumed:k.resumption!==null};case"conflict":throw new y("idempotency_conflict","the idempotency key was used for another signal",{fix:"Use a new key for a new signal, or send the same one again."});case"full":throw new y("too_many_signals",`${Bt} signals of the run wait to be taken already`,{fix:"Send it again once the run has taken some.",retryAfterSeconds:60});case"ended":throw new y("run_ended",`the run is ${k.status}: nothing takes a signal any more`,{fix:"Admit a new run."})}},"send")}}i(_l,"createSignals");function gl(){return new y("not_found","there is no such run",{fix:"Check the run id."})}i(gl,"absent");export{ji as core,yl as engine,bd as ledger};
